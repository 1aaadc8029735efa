"""What a drill leaves behind is found, and what comes and goes by itself is not taken for it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from infra.errors import Unknown
from runbooks.lib.drill.model import _left
from runbooks.lib.drill.traces import Traces, _interfaces, _mounts, _processes, _rules, named, state_of

PS = """\
    1     0 /usr/bin/python3 -m supervisor.supervisord
    2     0 [kthreadd]
   48     1 /usr/sbin/dropbear -F -E -p10.9.0.2:2222
   60    48 /usr/sbin/dropbear -F -E -p10.9.0.2:2222
   61    60 bash -c sleep 100
   62    61 sleep 100
   70     1 /lab/bin/containerd-shim-runc-v2 -namespace k8s.io -id {id}
   71    70 python3 serve /models
   72    70 runc init
   90     1 sleep 77
"""


def test_sessions_and_kernel_threads_are_no_processes_of_the_system() -> None:
    """Whoever looks over ssh leaves no trace; the daemon itself, and what runs without a session, is one."""
    found = sorted(_processes(PS.format(id="a" * 64)))
    assert [line.split()[0] for line in found] == [
        "/lab/bin/containerd-shim-runc-v2", "/usr/bin/python3", "/usr/sbin/dropbear", "python3", "sleep",
    ]  # fmt: skip
    assert "sleep 77" in found


def test_a_pod_that_took_the_place_of_another_looks_the_same() -> None:
    """Container ids differ, the system does not."""
    assert sorted(_processes(PS.format(id="a" * 64))) == sorted(_processes(PS.format(id="b" * 64)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("veth3e5fcfe3@if2 up", "veth9a48604c@if7 up"),
        (
            "tmpfs on /pods/8b1f8d5e-4ac2-4a6b-9a6c-1f2e3d4c5b6a/x",
            "tmpfs on /pods/00000000-4ac2-4a6b-9a6c-1f2e3d4c5b6a/x",
        ),
        ("tmpfs on /x/kube-api-access-nfh4g (tmpfs)", "tmpfs on /x/kube-api-access-vlcf6 (tmpfs)"),
        ("snat to 10.9.64.5", "snat to 10.9.80.17"),
        ("pod gateway-757859c579-9ggkj", "pod gateway-85757d8bbc-c75hk"),
    ],
)
def test_names_that_pass_are_alike(one: str, other: str) -> None:
    """What a successor is called is no difference."""
    assert named(one) == named(other) != one


@pytest.mark.parametrize("text", ["table inet railwright_drill", "tmpfs on /var/lib/railwright-drill (tmpfs)"])
def test_names_of_drills_stay(text: str) -> None:
    """What a drill makes keeps its name, so that it is found."""
    assert named(text) == text


def test_a_slow_class_on_an_interface_is_seen() -> None:
    """Interfaces are told with their queue: a delay that was left there shows."""
    line = "9: veth12345678@if2: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc {} state UP\\ link/ether 02:00:00:00:00:01"
    assert list(_interfaces(line.format("htb"))) != list(_interfaces(line.format("noqueue")))


def test_a_mount_and_a_rule_are_seen() -> None:
    """Mounts by source, target and kind; rules by their table, those of kube-proxy left out."""
    assert list(_mounts("railwright-drill /x tmpfs rw 0 0")) == ["railwright-drill on /x (tmpfs)"]
    text = (
        "table ip kube-proxy {\n chain x {\n drop\n }\n}\ntable inet railwright_drill {\n chain way {\n drop\n }\n}\n"
    )
    found = list(_rules(text))
    assert found
    assert all("railwright_drill" in line for line in found)


def _thing(**changes: Any) -> dict[str, Any]:
    meta = {"name": "x", "uid": "1", "resourceVersion": "5", "annotations": {}} | changes.pop("metadata", {})
    return {"metadata": meta, "spec": {"replicas": 1}, "status": {"ready": 1}} | changes


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (_thing(status={"ready": 0}), True),
        (_thing(metadata={"resourceVersion": "6"}), True),
        (_thing(metadata={"annotations": {"deployment.kubernetes.io/revision": "2"}}), True),
        (_thing(metadata={"annotations": {"prometheus-operator-input-hash": "4"}}), True),
        (_thing(spec={"replicas": 2}), False),
        (_thing(metadata={"annotations": {"railwright.dev/cordoned-by": "drill"}}), False),
        (_thing(data={"tls.crt": "x"}), False),
    ],
)
def test_only_what_someone_decided_counts(other: dict[str, Any], same: bool) -> None:
    """Status and bookkeeping pass; spec, data, labels and annotations do not."""
    assert (state_of(_thing()) == state_of(other)) == same


def test_differences_are_sentences() -> None:
    """New, gone and changed, with the kind of trace."""
    before = Traces({"objects": {"a": "1", "b": "x", "c": "2"}})
    after = Traces({"objects": {"b": "y", "c": "3", "d": "1"}, "host mounts": {"m": "1"}})
    assert after.since(before) == [
        "host mounts: m is new", "objects: a is gone", "objects: b changed", "objects: c changed from 2 to 3",
        "objects: d is new",
    ]  # fmt: skip
    assert before.since(before) == []


def test_what_moves_with_a_pod_to_another_host_is_not_left_behind() -> None:
    """After a drain of lab-1 its pods' mounts are on lab-0, in the folder of another kubelet; nothing is too many."""
    kubelet = "tmpfs /lab/{}/pods/8b1f8d5e-4ac2-4a6b-9a6c-1f2e3d4c5b6a/data tmpfs rw 0 0"
    (here,), (there,) = _mounts(kubelet.format("kubelet")), _mounts(kubelet.format("kubelet-1"))
    assert here == there
    before = Traces({"lab-0 mounts": {here: "3"}, "lab-1 mounts": {here: "1"}})
    assert Traces({"lab-0 mounts": {here: "4"}, "lab-1 mounts": {}}).since(before) == []


def test_what_is_more_on_all_hosts_together_is_left_behind_where_it_changed() -> None:
    """A mount too many is told with its host; a thing of another kind with the same name does not make up for it."""
    before = Traces({"lab-0 mounts": {"x": "1"}, "lab-1 mounts": {"x": "1"}, "lab-1 firewall": {"x": "2"}})
    after = Traces({"lab-0 mounts": {"x": "2"}, "lab-1 mounts": {"x": "1"}, "lab-1 firewall": {"x": "1"}})
    assert after.since(before) == ["lab-0 mounts: x changed from 1 to 2", "lab-1 firewall: x changed from 2 to 1"]


class Answers:
    """Looks at a system that comes back: what they find, or that it does not answer."""

    def __init__(self, *looks: Traces | Unknown) -> None:
        self.looks = list(looks)
        self.slept = 0.0

    def take(self, ctx: Any) -> Traces:
        """The next look."""
        found = self.looks.pop(0)
        if isinstance(found, Unknown):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        """Between two looks."""
        self.slept += seconds


def test_a_system_that_does_not_answer_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its API server was started a drill waits until it can tell, and what is still there then counts."""
    as_it_was, more = Traces({"objects": {}}), Traces({"objects": {"Secret x": "1"}})
    answers = Answers(Unknown("API server — 429"), more, as_it_was)
    monkeypatch.setattr("runbooks.lib.drill.traces.take", answers.take)
    assert _left(cast("Any", answers), as_it_was, 60.0) == []
    assert (answers.looks, answers.slept) == ([], 4)


def test_without_an_answer_to_the_end_nothing_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is not "as it was"."""
    answers = Answers(Unknown("API server — no answer"))
    monkeypatch.setattr("runbooks.lib.drill.traces.take", answers.take)
    with pytest.raises(Unknown, match="no answer"):
        _left(cast("Any", answers), Traces({}), 0.0)
