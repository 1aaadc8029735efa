"""The playbooks, with stand-ins for roles, reboots and the program ``runbook``: in which order, and where they stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.rolling import Site, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="takes root and mounts of its own"),
]

ROLES = ["rdma", "node_health"]
FEW = ("-e", json.dumps({"tune_roles": ROLES}))
NOW = (*FEW, "-e", "tune_stack=lab", "-e", "tune_reboot=now")


def served(host: str, drained: str = "serving") -> list[str]:
    """What the log says of one pass of the roles; node_health does not ask whether the host is drained."""
    return [f"{host} rdma {drained}", f"{host} node_health serving"]


def kept(host: str) -> list[str]:
    """How a host that is well ends: proved, and returned if it was out."""
    return [f"{host} host/verify_host", f"{host} host/return_host tune"]


def test_hosts_are_tuned_while_they_serve_leaf_after_leaf(tmp_path: Path) -> None:
    """No drain, and a reboot waits until it is allowed; each is proved, and returned if an earlier run left it out."""
    site = Site(tmp_path / "s", {"a": {"leaf": 1, "wants_reboot": "rdma"}, "b": {"leaf": 0}, "c": {"leaf": 1}})
    status, said = site.play("tune", *FEW, "-e", "tune_stack=lab")
    order = [line.split()[0] for line in site.log if line.endswith("host/verify_host")]
    assert (status, sorted(order)) == (0, ["a", "b", "c"])
    assert abs(order.index("a") - order.index("c")) == 1
    passed = [line for host in order for line in (*served(host), *kept(host))]
    assert passed == site.log
    assert "iommu=pt is missing" in said


def test_what_a_serving_host_would_feel_is_done_between_drain_and_return(tmp_path: Path) -> None:
    """A reboot comes after the drain, and the roles once more after it; what only waits for a drain gets no reboot."""
    site = Site(tmp_path / "s", {"a": {"wants_reboot": "rdma"}, "b": {"wants_drain": "rdma"}})
    status, said = site.play("tune", *NOW)
    assert status == 0, said
    assert [line for line in site.log if line.startswith("a ")] == [
        *served("a"), "a host/drain_host tune", *served("a", "drained"), "a reboot", *served("a", "drained"),
        "a host/verify_host", "a host/return_host tune",
    ]  # fmt: skip
    assert [line for line in site.log if line.startswith("b ")] == [
        *served("b"), "b host/drain_host tune", *served("b", "drained"), "b host/verify_host",
        "b host/return_host tune",
    ]  # fmt: skip


def test_a_host_in_no_cluster_is_not_drained(tmp_path: Path) -> None:
    """It serves nobody; nor does it need a stack's name."""
    site = Site(tmp_path / "s", {"a": {"wants_reboot": "rdma"}}, in_cluster=False)
    assert site.play("tune", *FEW, "-e", "tune_reboot=now")[0] == 0
    assert [line for line in site.log if "host/" in line] == []
    assert "a reboot" in site.log


def test_a_host_of_a_cluster_that_nobody_names_is_left_alone(tmp_path: Path) -> None:
    """A reboot is due, and no stack says how to drain it: refused, and not rebooted."""
    site = Site(tmp_path / "s", {"a": {"wants_reboot": "rdma"}})
    status, said = site.play("tune", *FEW, "-e", "tune_reboot=now")
    assert (status != 0, site.log) == (True, served("a"))
    assert "host_drain_stack is empty" in said


BAD: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "pod models/tiny — has no place": ({"wants_reboot": "rdma"}, "host/drain_host", ["a host/drain_host tune"]),
    "vm.swappiness is 60": ({}, "host/verify_host", ["a host/verify_host"]),
}


@pytest.mark.parametrize("why", BAD, ids=["no room", "not proved"])
def test_the_first_bad_host_is_the_last_one(why: str, tmp_path: Path) -> None:
    """It is as before and goes on serving, the next leaf is not touched, and the play says why it ended."""
    variables, runbook, log = BAD[why]
    site = Site(tmp_path / "s", {"a": {"leaf": 0, **variables}, "b": {"leaf": 1}})
    site.ends(runbook, "a", 2, why)
    status, said = site.play("tune", *NOW)
    assert (status != 0, site.log) == (True, [*served("a"), *log])
    assert "stopped, and no further host is touched" in said
    assert why in said


def test_a_drained_host_that_fails_stays_out_with_the_reason(tmp_path: Path) -> None:
    """Whatever fails: held in the cluster with what went wrong, never returned; the others of its batch finish."""
    hosts = {name: {"leaf": 0, "wants_drain": "rdma"} for name in "abcd"}
    site = Site(tmp_path / "s", {**hosts, "a": {**hosts["a"], "fails": "rdma drained"}, "e": {"leaf": 1}})
    site.ends("host/verify_host", "b", 1, "vm.swappiness is 60")
    site.ends("host/return_host", "c", 1, "GPU 3 fell off")
    assert site.play("tune", *NOW, "-e", "tune_at_once=4")[0] != 0
    held = dict(line.split(" host/hold_host tune ") for line in site.log if "hold_host" in line)
    assert "rdma cannot" in held["a"]
    assert "vm.swappiness is 60" in held["b"]
    assert "GPU 3 fell off" in held["c"]
    assert {line.split()[0] for line in site.log if line.endswith("return_host tune")} == {"c", "d"}
    assert not [line for line in site.log if line.startswith("e ")]


def test_a_driver_that_waits_for_a_reboot_that_is_not_allowed_is_not_drained_for(tmp_path: Path) -> None:
    """Its libraries would be exchanged under the one that is loaded; the play says that it waits."""
    site = Site(tmp_path / "s", {"a": {"wants_drain": "nvidia_driver"}})
    status, said = site.play("tune", "-e", '{"tune_roles": ["nvidia_driver"], "tune_stack": "lab"}')
    assert (status, site.log) == (0, ["a nvidia_driver serving", *kept("a")])
    assert "drain-due/nvidia_driver" in said


def test_a_host_that_its_reboot_did_not_help_is_held(tmp_path: Path) -> None:
    """It is not rebooted in a circle: what waits still is the reason on it."""
    site = Site(tmp_path / "s", {"a": {"wants_reboot": "rdma", "boots_in_vain": True}})
    status, _ = site.play("tune", *NOW)
    assert (status != 0, site.log.count("a reboot")) == (True, 1)
    assert "waits for a reboot again" in site.log[-1]


@pytest.mark.parametrize(
    ("playbook", "runbooks"),
    [("tune", ["a host/return_host dry tune"]), ("drain", ["a host/drain_host dry maintenance"])],
)
def test_a_check_writes_nothing_in_the_cluster(playbook: str, runbooks: list[str], tmp_path: Path) -> None:
    """Runbooks are asked without leave to act, and nothing is proved that has not been done."""
    site = Site(tmp_path / "s", {"a": {}})
    status, said = site.play(playbook, "--check", *NOW, "-e", "host_drain_stack=lab")
    assert (status, site.log) == (0, runbooks), said


@pytest.mark.parametrize(("to", "runbook"), [("maintenance", "drain_host"), ("cluster", "return_host")])
def test_a_host_is_drained_and_returned(to: str, runbook: str, tmp_path: Path) -> None:
    """By the play of its own, one by one."""
    site = Site(tmp_path / "s", {"a": {}, "b": {}})
    assert site.play("drain", "-e", f"drain_to={to}", "-e", "host_drain_stack=lab")[0] == 0
    assert site.log == [f"{host} host/{runbook} maintenance" for host in ("a", "b")]


def test_verify_judges_every_host(tmp_path: Path) -> None:
    """One that fails does not keep the next from being asked."""
    site = Site(tmp_path / "s", {"a": {}, "b": {}})
    site.ends("host/verify_host", "a", 1, "vm.swappiness is 60")
    status, said = site.play("verify", "-e", "tune_stack=lab")
    assert (status != 0, sorted(site.log)) == (True, ["a host/verify_host", "b host/verify_host"])
    assert "vm.swappiness is 60" in said


def test_an_upgrade_needs_leave_to_reboot(tmp_path: Path) -> None:
    """Refused before the drain: without a reboot the old driver would stay loaded under new libraries."""
    site = Site(tmp_path / "s", {"a": {}})
    status, said = site.play("upgrade_driver", "-e", "tune_stack=lab", "-e", "nvidia_driver_version=580.126.09")
    assert (status != 0, site.log) == (True, [])
    assert "set it to now" in said


def test_an_upgrade_drains_upgrades_reboots_proves_and_returns(tmp_path: Path) -> None:
    """Only driver and runtime are touched, and only drained."""
    site = Site(tmp_path / "s", {"a": {"wants_reboot": "nvidia_driver"}})
    status, said = site.play("upgrade_driver", *NOW[2:], "-e", "nvidia_driver_version=580.126.09")
    assert status == 0, said
    both = ["a nvidia_driver drained", "a container_runtime drained"]
    assert site.log == [
        "a host/drain_host upgrade-driver", *both, "a reboot", *both, "a host/verify_host",
        "a host/return_host upgrade-driver",
    ]  # fmt: skip


def test_validation_tells_everything_at_once_and_touches_nothing(tmp_path: Path) -> None:
    """Wrong types, words that YAML ate, unknown names, contradictions, what roles refuse, hosts that are down."""
    hosts = {
        "a": {"rdma_mtu": 4200, "rdma_fabrik": "roce", "kubelet_token": 12, "ansible_host": "10.0.0.1"},
        "b": {"rdma_mtu": 9000, "rdma_fabric": False, "kubelet_memory_policy": "Static", "ansible_host": "10.0.0.1"},
        "c": {"rdma_mtu": True, "ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1},
        "d": {"rdma_mtu": 4200, "ansible_python_interpreter": "auto"},
    }
    rails = {"rdma_rails": [{"address": "10.1.0.5/24"}]}
    site = Site(tmp_path / "s", hosts | {name: hosts[name] | rails for name in "ab"})
    # The interpreter of d is found and then ends on its way: all that is known of d is where it lies.
    shell = site.folder / "bin/sh-d"
    shell.write_text(shell.read_text().replace("\n", "\nexport PYTHONHOME=/nowhere\n", 1))
    site.refuses("cpu", '- ansible.builtin.fail: {msg: "host {{ inventory_hostname }} — tuned sets it too"}\n')
    status, said = site.play("tune")
    assert (status != 0, site.log) == (True, [])
    for problem in (
        "host a — rdma_fabrik — is no variable of role rdma — did you mean rdma_fabric?",
        "host a — kubelet_token — is a secret: YAML read a number",
        "host b — rdma_fabric — is false: YAML read yes or no",
        "hosts a and b — share address 10.0.0.1",
        "hosts a and b — share rail address 10.1.0.5",
        "pool p — has rdma_mtu 4200 on a, 9000 on b, true on c",
        "host c — rdma_mtu — is true: YAML read yes or no",
        "see: ssh c",
        "see: ssh d",
        "kubelet_memory_policy is Static without kubelet_reserved_memory",
        "host a — tuned sets it too",
        "host b — tuned sets it too",
    ):
        assert problem in said
    assert "has no attribute" not in said
