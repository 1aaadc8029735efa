"""``runbook accept`` knows an output by its looks, and ends with the worst outcome."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runbooks import cli
from tests.unit.runbooks.lib.acceptance.printed import NVBANDWIDTH_HEAD as HEAD
from tests.unit.runbooks.lib.acceptance.printed import copies, dcgm_table, nccl, write_bw

GOOD = {
    "all_reduce_perf on 1 host, 8 ranks — pass: 455.0 GB/s": nccl(455),
    "RDMA_Write BW Test of mlx5_0 — pass: 388.0 Gbit/s": write_bw(388),
    "nvbandwidth device_to_host_memcpy_ce — pass: 55.0 GB/s": HEAD + copies("device_to_host_memcpy_ce", [55] * 8),
    "dcgmi diag — pass: pass: Denylist": dcgm_table(("Denylist", "Pass")),
}  # fmt: skip


def _files(folder: Path, *texts: str) -> list[str]:
    for number, text in enumerate(texts):
        (folder / str(number)).write_text(text, encoding="utf-8")
    return [str(folder / str(number)) for number in range(len(texts))]


def test_each_output_is_known_by_its_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All four, good, in one call."""
    code = cli.main(["accept", *_files(tmp_path, *GOOD.values()), "--board=hgx-h200"])
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line[: len(begins)] for line, begins in zip(lines, GOOD, strict=True)] == list(GOOD)


def test_the_stage_that_diverges_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the order of the files: the wires are good, and NCCL does not get through them (nccl#2409)."""
    texts = (nccl(220, hosts=2), nccl(13.1, hosts=2, test="sendrecv_perf", by_rail=True), write_bw(392), nccl(455))
    assert cli.main(["accept", *_files(tmp_path, *texts), "--board=hgx-h200"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "first to fail: each wire by itself, through NCCL; right before that: NVLink, each wire by itself, without NCCL"
    )


@pytest.mark.parametrize("texts", [(nccl(455), write_bw(392)), (write_bw(100),)], ids=["all good", "nothing beside it"])
def test_without_a_stage_that_diverges_none_is_told(
    texts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What follows from nothing is not said."""
    cli.main(["accept", *_files(tmp_path, *texts), "--board=hgx-h200"])
    assert "first to fail" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([write_bw(388), write_bw(100)], 1),
        ([write_bw(388), ""], 4),
        ([write_bw(100), ""], 1),
        (["Couldn't allocate MR\n"], 1),
    ],
    ids=["one fails", "one is empty", "one fails, one is empty", "broken off"],
)
def test_the_worst_outcome_is_the_exit_code(texts: list[str], code: int, tmp_path: Path) -> None:
    """A failure weighs more than what cannot be told."""
    assert cli.main(["accept", *_files(tmp_path, *texts), "--board=hgx-h200"]) == code


@pytest.mark.parametrize(
    ("rates", "slow"), [((392, 391, 390, 340), [3]), ((392, 391, 390, 389), []), ((340, 392), [])],
    ids=["one of four", "all alike", "one of two"],
)  # fmt: skip
def test_a_host_that_is_slower_than_the_others_is_named(
    rates: tuple[float, ...], slow: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A floor is far below what hosts reach, and lets one pass that drags all others (cluster-health-scanner: 250)."""
    files = _files(tmp_path, *(nccl(rate, hosts=2, test="alltoall_perf") for rate in rates))
    code = cli.main(["accept", *files, "--board=hgx-h200"])
    told = [line for line in capsys.readouterr().out.splitlines() if "unlike the others" in line]
    assert [f" in {files[number]} — fail" in line for number, line in zip(slow, told, strict=True)] == [True] * len(
        slow
    )
    assert (code == 1) is bool(slow)


def test_the_machine_form_holds_the_causes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, and only that."""
    cli.main(["accept", *_files(tmp_path, write_bw(200, gpu=True)), "--board=hgx-h200", "--json"])
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["outcome"], one["causes"][0]["name"]) == ("fail", "ACS or IOMMU in the way")


def test_without_files_the_commands_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With the limits of the board."""
    assert cli.main(["accept", "--board=hgx-b300"]) == 0
    assert "targeted_power.target_power=1099" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--board=hgx-b301"], "board 'hgx-b301' — is not known — did you mean 'hgx-b300'?"),
        (["--board=lab-host"], "board 'lab-host' — nobody has published figures for it"),
        (["/nowhere/out.txt", "--board=hgx-b300"], "file '/nowhere/out.txt' — cannot be read"),
    ],
    ids=["unknown board", "board without figures", "no file"],
)
def test_what_is_asked_wrongly_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    assert cli.main(["accept", *words]) == 2
    assert said in capsys.readouterr().err
