"""Many hosts are proved at once: each by itself, and whatever one says is a pass, a fail, or cannot be told."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from infra.catalog.host_tuning.readings import KERNEL_LOG
from infra.catalog.host_tuning.setting import Answer, Means, Reading
from infra.errors import ConfigError, Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, Rail, readings, wanted
from runbooks.lib.hosts.proof import UPTIME, judged, over_ssh, prove
from runbooks.lib.writing import Result

VM = HostFacts("vm-0", "lab", "lab-host", "none", machine="virtual")
RAILS = tuple(
    Rail(f"ens{n}", f"0000:{n + 16:x}:00.0", f"10.{n}.0.5/24", f"10.{n}.0.1")
    for n in range(2)
)  # fmt: skip
B300 = HostFacts("b300-01", "large", "hgx-b300", "roce", rails=RAILS)

SAID = (
    "", "\n", "x", "=", "a=b", "0", "-1", "0x1", "[]", "{}", "[{}]", "[1]", "null", '[{"a": 1}]', '{"a": [', "1 2\n3",
    "a,b", "[N/A], ,\n", "0-3,5", "a-b", "9" * 50, "name value\n" * 3, "GPU0\tX\tPIX\n", "hca_id:\tmlx5_0\n",
    "LoadState=loaded\n", "foo [a] bar", "infinity", "100%", ":", "a:\n  - b", "\ufffd",
    "18:00.0 NIC\n\tLnkCap: Speed\n",
)  # fmt: skip
"""What no program that is well prints, and what one prints that was cut."""


def _ask(said: Mapping[str, Any]) -> Any:
    """Hosts by name: answers to all readings, or an error to raise."""

    def ask(host: HostFacts, asked: Sequence[Reading]) -> Mapping[Reading, Answer]:
        found = said[host.name]
        if isinstance(found, Exception):
            raise found
        return {reading: found.get(reading, Answer()) for reading in asked}

    return ask


@pytest.mark.parametrize(
    "error", [Unknown("no ssh at 10.0.0.1:22"), ConfigError("refuses our key")], ids=["down", "key"]
)
def test_a_host_in_the_dark_is_one_line_and_costs_the_others_nothing(error: Exception) -> None:
    """Its name, why, and that it cannot be told."""
    others = [HostFacts(f"vm-{number}", "lab", "lab-host", "none", machine="virtual") for number in range(1, 50)]
    proofs = prove([VM, *others], _ask({"vm-0": error, **{one.name: {} for one in others}}))
    dark, *rest = proofs
    assert [(one.id, one.outcome, one.found) for one in dark.checks] == [("host", Outcome.UNKNOWN, str(error))]
    assert [proof.host.name for proof in rest] == [one.name for one in others]
    assert all(len(proof.checks) == len(wanted(VM)) and not proof.dark for proof in rest)


def test_a_host_of_an_unknown_board_is_not_asked() -> None:
    """Nothing is known of what it needs."""
    (proof,) = prove([HostFacts("x", "p", "hgx-b301", "roce")], _ask({}))
    assert "board 'hgx-b301' is not known" in proof.dark


def test_each_question_is_asked_once() -> None:
    """All settings in one round trip, with the kernel's log."""
    asked: list[Sequence[Reading]] = []

    def ask(host: HostFacts, each: Sequence[Reading]) -> Mapping[Reading, Answer]:
        asked.append(each)
        return dict.fromkeys(each, Answer())

    prove([B300], ask)
    assert len(asked) == 1
    assert set(asked[0]) == {*readings(wanted(B300)), KERNEL_LOG, UPTIME}
    assert len(set(asked[0])) == len(asked[0])


def test_faults_of_the_kernels_log_are_told_and_judge_nothing() -> None:
    """Of each device the worst; a link that came back is none."""
    log = (
        "[  100.0] NVRM: Xid (PCI:0000:9b:00): 45, pid=1\n"
        "[  100.1] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off\n"
        "[  101.0] mlx5_core 0000:18:00.0 ens1: Link down\n[  102.0] mlx5_core 0000:18:00.0 ens1: Link up\n"
    )
    said = {KERNEL_LOG: Answer({"": log}), UPTIME: Answer({"/proc/uptime": "5000.1 9000.2\n"})}
    (proof,) = prove([VM], _ask({"vm-0": said}))
    (fault,) = proof.faults
    assert (fault.device, fault.code, fault.at is not None) == ("0000:9b:00", 79, True)
    (without,) = prove([VM], _ask({"vm-0": {}}))
    assert proof.checks == without.checks


def test_a_host_is_asked_at_its_address_and_told_by_its_name() -> None:
    """Where the inventory says one."""
    ways: list[str] = []

    class Connections:
        def run(self, host: str, argv: Sequence[str], **more: Any) -> Result:
            ways.append(host)
            return Result(1, "", "sudo: a password is required\n")

    far = HostFacts("b300-01", "p", "lab-host", "none", address="10.0.0.1")
    proofs = prove([far, VM], over_ssh(Connections()))  # type: ignore[arg-type]  # has what is used of it
    assert sorted(ways) == ["10.0.0.1", "vm-0"]
    assert proofs[0].dark.startswith("host b300-01 — asking it ends with 1: sudo: a password is required")


def _nonsense(chance: random.Random, reading: Reading) -> Answer:
    if chance.random() < 0.2:
        return Answer({"": ""} if reading.means is Means.COMMAND else {}, chance.choice([0, 1, 127]))
    place = "" if reading.means is Means.COMMAND else reading.ask[0].replace("[0-9]", "1").replace("*", "1")
    return Answer({place: chance.choice(SAID)})


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_host_says_each_check_has_an_outcome(seed: int) -> None:
    """One host that prints nonsense must not keep the others from being judged."""
    chance = random.Random(seed)  # noqa: S311  no secret
    items = wanted(B300)
    said = {reading: _nonsense(chance, reading) for reading in readings(items)}
    assert all(isinstance(judged(item, said), Check) for item in items)


def test_what_no_parser_can_read_cannot_be_told() -> None:
    """It is neither a pass nor the end of all other checks."""
    item = next(one for one in wanted(B300) if one.id == "cpu.idle_latency")
    place = item.readings[0].ask[0].replace("*", "1")
    check = judged(item, {reading: Answer({place: "a,b"}) for reading in item.readings})
    assert check.outcome is Outcome.UNKNOWN
