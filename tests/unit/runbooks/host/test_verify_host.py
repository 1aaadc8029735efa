"""Which hosts are proved, and what the run comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.host_tuning.readings import KERNEL_LOG
from infra.catalog.host_tuning.setting import Answer, Reading
from infra.errors import Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, Wanted
from runbooks.engine.result import Exit
from runbooks.host import verify_host
from runbooks.host.verify_host import VerifyHost
from runbooks.lib.hosts import proof
from runbooks.lib.hosts.listed import Listed
from tests.unit.runbooks.fakes import said
from tests.unit.runbooks.host_fakes import World

Run = Callable[..., Any]
XID = "[ 1.0] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run it with what each host comes to: an outcome of all its checks, or why it does not answer."""

    def go(hosts: Mapping[str, Outcome | str], *, log: str = "", world: World | None = None, **inputs: Any) -> Any:
        def ask(host: HostFacts, asked: Sequence[Reading]) -> Mapping[Reading, Answer]:
            found = hosts[host.name]
            if not isinstance(found, Outcome):
                raise Unknown(found)
            answers = dict.fromkeys(asked, Answer({"": found.value}))
            return answers | {KERNEL_LOG: Answer({"": log})}

        def judge(item: Wanted, answers: Mapping[Reading, Answer]) -> Check:
            outcome = Outcome(answers[proof.UPTIME].texts[""])
            return Check(item.id, outcome, "so", "thus", "because", "ticket", action="do it")

        monkeypatch.setattr(verify_host, "over_ssh", lambda connections: ask)
        monkeypatch.setattr(proof, "judge", judge)
        return (world or World()).run(VerifyHost, tmp_path, **inputs)

    return go


@pytest.mark.parametrize(
    ("hosts", "code", "words"),
    [
        ({"lab-0": Outcome.PASS, "lab-1": Outcome.PASS}, Exit.DONE, ["2 hosts", " 0 fail, 0 unknown"]),
        ({"lab-0": Outcome.PASS, "lab-1": Outcome.FAIL}, Exit.UNDONE, ["lab-1 kernel_settings.", "is so, wanted thus"]),
        ({"lab-0": Outcome.PASS, "lab-1": "no ssh"}, Exit.UNKNOWN, ["1 unknown: lab-1 host is no ssh"]),
        ({"lab-0": Outcome.FAIL, "lab-1": "no ssh"}, Exit.UNDONE, ["1 unknown: lab-0 kernel_settings."]),
        ({"lab-0": Outcome.UNKNOWN, "lab-1": Outcome.PASS}, Exit.UNKNOWN, ["lab-0 kernel_settings."]),
    ],
    ids=["all pass", "one fails", "one is dark", "one fails, one is dark", "one cannot be told"],
)
def test_the_worst_outcome_counts(run: Run, hosts: dict[str, Any], code: Exit, words: list[str]) -> None:
    """0 when all passed, 1 when one failed, 4 when one cannot be told."""
    result = run(hosts)
    assert result.exit is code, said(result)
    assert all(word in said(result) for word in words), said(result)


def test_the_record_holds_each_check(run: Run) -> None:
    """With what to do."""
    result = run({"lab-0": Outcome.FAIL}, host="lab-0")
    rows = result.steps[0].facts["checks"]
    assert {(row["host"], row["outcome"], row["action"]) for row in rows} == {("lab-0", "fail", "do it")}


def test_what_the_kernel_told_is_news_and_no_failure(run: Run) -> None:
    """A log forgets nothing that was cured."""
    result = run({"lab-0": Outcome.PASS, "lab-1": Outcome.PASS}, log=XID)
    assert result.exit is Exit.DONE
    assert "kernel logs tell: lab-0 0000:9b:00 Xid 79: restart the host; replace it if that comes again" in said(result)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"host": "lab-9"}, "host 'lab-9' — has none of the 2 hosts"),
        ({"pool": "b300"}, "pool 'b300' — all its hosts are simulated and have no kernel"),
        ({"leaf": "nowhere"}, "leaf 'nowhere' — has none of the 2 hosts"),
        ({"inventory": "/nowhere"}, "inventory '/nowhere' — is not there"),
    ],
    ids=["unknown host", "simulated", "unknown leaf", "no inventory"],
)
def test_hosts_that_are_not_there_are_refused(run: Run, inputs: dict[str, Any], words: str) -> None:
    """Before anybody is asked: a proof of nobody is none."""
    result = run({}, **inputs)
    assert (result.exit, words in said(result)) == (Exit.REFUSED, True), said(result)


def test_an_inventory_of_ansible_has_its_own_hosts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those that have not joined the cluster."""
    bare = HostFacts("h100-07", "h100", "hgx-h100", "roce")
    monkeypatch.setattr(verify_host, "read", lambda path: Listed((bare,), path))
    result = run({"h100-07": Outcome.PASS}, inventory="ansible/inventory/example")
    assert (result.exit, "1 hosts" in said(result)) == (Exit.DONE, True), said(result)
