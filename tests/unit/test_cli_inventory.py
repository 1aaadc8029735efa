"""`infra inventory` tells the hosts of a stack, in the form that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.cli import main
from infra.plan.outputs import outputs
from tests.unit.plan.machines import NAMED, machines
from tests.unit.plan.specs import changed, plan_of


def _stack(folder: Path, changes: dict[str, Any]) -> str:
    path = folder / "Pulumi.test.yaml"
    config = {f"railwright:{key}": value for key, value in changed({**NAMED, **changes}).items()}
    path.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    return str(path)


def test_the_table_has_a_line_for_each_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its place."""
    assert main(["inventory", _stack(tmp_path, {})]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[4] == ["gpus-3", "10.0.0.13", "gpus", "hgx-h100", "roce", "leaf-1", "r1", "8", "metal", "gpu"]


@pytest.mark.parametrize("form", ["--json", "--yaml"])
def test_typed_hosts_are_the_same_in_both_forms(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs, without what is Ansible's own."""
    assert main(["inventory", _stack(tmp_path, {}), form]) == 0
    said = yaml.safe_load(capsys.readouterr().out)
    assert [host["name"] for host in said["hosts"]] == ["gpus-0", "gpus-1", "gpus-2", "gpus-3"]
    assert said["hosts"][0]["rails"][0]["pci"] == "0000:10:00.0"


def test_one_host_is_told_with_all_its_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As Ansible has them: those of all hosts and of its pool too."""
    stack = _stack(tmp_path, {})
    assert main(["inventory", stack, "--host", "gpus-2"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["host_cluster"], said["host_pool"], said["host_leaf"]) == ("prod", "gpus", "leaf-1")


@pytest.mark.parametrize(
    ("changes", "arguments", "code", "said"),
    [
        ({}, ["--host", "gpus-7"], 2, "host 'gpus-7' — is not in the stack of cluster 'prod'"),
        ({"pools/gpus/machines": machines(name="gpus-0")}, [], 2, "pools: name 'gpus-0' is listed twice"),
        ({"pools/gpus/machines": []}, [], 2, "pool 'gpus' — has 4 hosts and names 0"),
        ({"pools/gpus/machines": [], "cluster/target": "eks"}, [], 4, "cannot tell: cluster 'prod' — the hosts of"),
        ({}, ["--outputs", "nowhere.json"], 2, "outputs file 'nowhere.json' — cannot be read (No such file or"),
    ],
    ids=["no such host", "twice", "none named", "a cloud's", "no outputs"],
)  # fmt: skip
def test_the_exit_code_tells_what_is_wrong(
    tmp_path: Path,
    changes: dict[str, Any],
    arguments: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """2: refused, 4: cannot tell; one line on standard error, nothing on standard output."""
    assert main(["inventory", _stack(tmp_path, changes), *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)


def test_a_stack_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Or the names that there are are told."""
    assert main(["inventory", "bare-h100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cluster"] == "bare-h100"
    assert main(["inventory", "bare-h200"]) == 2
    assert capsys.readouterr().err.startswith(
        "stack 'bare-h200' — is not in stacks — name one of aks-h200, bare-b300, bare-h100"
    )


@pytest.mark.parametrize(
    ("text", "code"), [("deployed", 0), ("{", 2), ("[]", 2), ('{"schema_version": 1}', 2)],
    ids=["the same hosts", "no JSON", "no mapping", "old"],
)  # fmt: skip
def test_outputs_of_the_deployed_stack_are_held_against_the_plan(tmp_path: Path, text: str, code: int) -> None:
    """What `pulumi stack output --json` printed."""
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps(outputs(plan_of(NAMED))) if text == "deployed" else text, encoding="utf-8")
    assert main(["inventory", _stack(tmp_path, {}), "--outputs", str(path)]) == code
