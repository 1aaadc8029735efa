"""``runbook cables`` reads hosts and what a tool printed, and ends with the worst outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.plan.outputs import SCHEMA_VERSION
from runbooks import cli

DATA = Path(__file__).parent / "data"


def _outputs(folder: Path, *, fabric: str = "infiniband", hosts: int = 2) -> str:
    """Outputs of a stack with two hosts of two rails, as in the data."""
    rails = [{"interface": f"ibp{bus}s0", "pci": f"0000:{bus:02x}:00.0"} for bus in (16, 17)]
    machines = [{"name": f"h{number}", "leaf": "leaf-0", "rails": rails} for number in range(hosts)]
    pool: dict[str, Any] = {
        "board": "hgx-h200", "hosts": hosts, "fabric": fabric, "role": "gpu", "machine": "metal", "labels": {},
        "taints": [], "machines": machines,
    }  # fmt: skip
    said = {"schema_version": SCHEMA_VERSION, "cluster": "c", "target": "baremetal", "ssh_config": "",
            "pools": {"p": pool}}  # fmt: skip
    (folder / "outputs.json").write_text(json.dumps(said), encoding="utf-8")
    return f"--outputs={folder / 'outputs.json'}"


@pytest.mark.parametrize(
    ("rate", "hosts", "code", "last"),
    [
        ("1xQDR", 2, 0, "2 hosts: 4 pass, 0 fail, 0 cannot be told"),
        ("4xHDR", 2, 1, "2 hosts: 2 pass, 2 fail, 0 cannot be told"),
        ("1xQDR", 1, 4, "1 hosts: 2 pass, 0 fail, 2 cannot be told"),
        ("1xQDR", 3, 1, "3 hosts: 4 pass, 2 fail, 0 cannot be told"),
    ],
    ids=["all right", "two are slow", "strangers", "one host is not there"],
)
def test_the_worst_outcome_is_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: str, hosts: int, code: int, last: str
) -> None:
    """With a line for each that did not pass, and the counts at the end."""
    words = ["cables", str(DATA / "ibnetdiscover.txt"), _outputs(tmp_path, hosts=hosts), f"--rate={rate}"]
    assert cli.main(words) == code
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_a_line_says_who_what_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The failures first."""
    cli.main(["cables", str(DATA / "iblinkinfo.txt"), _outputs(tmp_path), "--rate=4xHDR"])
    assert capsys.readouterr().out.splitlines()[0] == (
        "fail: h1 rail 0 is narrow: 1xHDR on 'leaf-0 rail 0' port 2, wanted 4xHDR — "
        "clean or replace cable and module; see its bit errors (mlxlink)"
    )


def test_the_machine_form_has_every_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that passed too."""
    cli.main(["cables", str(DATA / "iblinkinfo-l.txt"), _outputs(tmp_path), "--rate=4xHDR", "--json"])
    found = {check["subject"]: check["outcome"] for check in json.loads(capsys.readouterr().out)}
    assert found == {"h0 rail 0": "pass", "h0 rail 1": "pass", "h1 rail 0": "fail", "h1 rail 1": "fail"}


@pytest.mark.parametrize(
    ("fabric", "file", "rate", "code", "said"),
    [
        ("roce", "ibnetdiscover.txt", "4xHDR", 2, "none of them is in a pool with fabric: infiniband"),
        ("infiniband", "nowhere.txt", "4xHDR", 2, "cannot be read"),
        ("infiniband", "ibnetdiscover.txt", "400", 2, "write it like 4xNDR"),
        ("infiniband", "../test_command.py", "4xHDR", 4, "neither of ibnetdiscover nor of iblinkinfo"),
    ],
    ids=["no host on InfiniBand", "no file", "no rate", "another file"],
)
def test_what_cannot_be_judged_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fabric: str, file: str, rate: str, code: int, said: str
) -> None:
    """Refused, or cannot be told; never a pass."""
    assert cli.main(["cables", str(DATA / file), _outputs(tmp_path, fabric=fabric), f"--rate={rate}"]) == code
    assert said in " ".join(capsys.readouterr().err.split())
