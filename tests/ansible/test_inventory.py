"""The inventory plugin: what Ansible gets of a stack, and what it refuses before anything is played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader

from infra.plan.outputs import outputs
from tests.unit.plan.machines import NAMED, machines
from tests.unit.plan.specs import changed, plan_of

REPO = Path(__file__).resolve().parents[2]
ANSIBLE = REPO / "ansible"
PULUMI = """#!/bin/sh
test "$*" = "stack output --json --non-interactive --stack prod" || { echo "error: no stack $6" >&2; exit 255; }
test -z "$PULUMI_CONFIG_PASSPHRASE" && cat '%s'
"""
"""Stands in for pulumi: prints the outputs of stack prod to who gives no passphrase."""


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A stack file with four hosts, and the outputs of the same beside it."""
    config = {f"railwright:{key}": value for key, value in changed(NAMED).items()}
    (tmp_path / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    (tmp_path / "outputs.json").write_text(json.dumps(outputs(plan_of(NAMED))), encoding="utf-8")
    return tmp_path


def _parse(folder: Path, before: InventoryData | None = None, **sources: str) -> InventoryData:
    """Read an inventory as Ansible does; ``before`` is what other sources listed."""
    source = folder / "railwright.yml"
    source.write_text(yaml.safe_dump({"plugin": "railwright", **sources}), encoding="utf-8")
    inventory_loader.add_directory(str(ANSIBLE / "plugins" / "inventory"))
    plugin, found = inventory_loader.get("railwright"), before or InventoryData()
    assert plugin.verify_file(str(source))
    plugin.parse(found, DataLoader(), str(source))
    found.reconcile_inventory()
    return found


def _refused(folder: Path, before: InventoryData | None = None, **sources: str) -> str:
    with pytest.raises(AnsibleError) as refused:
        _parse(folder, before, **sources)
    return str(refused.value)


@pytest.mark.parametrize("source", ["stack_file", "outputs_file", "pulumi_stack", "both"])
def test_every_source_tells_the_same_hosts(stack: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan, saved outputs, and Pulumi, which is given no passphrase."""
    (stack / "pulumi").write_text(PULUMI % (stack / "outputs.json"), encoding="utf-8")
    (stack / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", str(stack), prepend=os.pathsep)
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    files = {"stack_file": str(stack / "Pulumi.prod.yaml"), "outputs_file": str(stack / "outputs.json")}
    named = {**files, "pulumi_stack": "prod"}
    found = _parse(stack, **(files if source == "both" else {source: named[source]}))
    assert sorted(found.hosts) == ["gpus-0", "gpus-1", "gpus-2", "gpus-3"]
    assert [host.name for host in found.groups["leaf_leaf_1"].get_hosts()] == ["gpus-2", "gpus-3"]
    assert found.hosts["gpus-3"].vars["rdma_rails"][7]["address"] == "10.107.0.13/24"
    assert found.groups["pool_gpus"].vars["rdma_fabric"] == "roce"
    assert found.groups["all"].vars["host_cluster"] == "prod"


def test_a_host_that_another_source_lists_too_is_refused(stack: Path) -> None:
    """Its variables would come from two places."""
    before = InventoryData()
    before.add_host("gpus-1")
    said = _refused(stack, before, outputs_file=str(stack / "outputs.json"))
    assert "host 'gpus-1' — is listed by another source of this inventory too — list it once" in said


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "host_vars/gpus-7.yml",
            "host_vars: 'gpus-7' — is not in the stack, so that nothing is told of it — did you mean",
        ),
        (
            "group_vars/pool_gpu.yml",
            "group_vars: 'pool_gpu' — is not in the stack, so that nothing is told of it — did you mean",
        ),
    ],
    ids=["host", "group"],
)
def test_variables_of_what_the_stack_does_not_have_are_refused(stack: Path, path: str, said: str) -> None:
    """The host went, or its name is mistyped; Ansible itself says nothing."""
    (stack / path).parent.mkdir()
    (stack / path).touch()
    assert said in _refused(stack, outputs_file=str(stack / "outputs.json"))


@pytest.mark.parametrize(
    "path",
    ["host_vars/gpus-3.yml", "host_vars/gpus-3/ssh.yml", "host_vars/.gpus-7.yml.swp", "group_vars/leaf_leaf_1.yml"],
)
def test_variables_of_what_the_stack_has_are_taken(stack: Path, path: str) -> None:
    """One file or a folder."""
    (stack / path).parent.mkdir(parents=True)
    (stack / path).touch()
    assert "gpus-3" in _parse(stack, outputs_file=str(stack / "outputs.json")).hosts


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({}, "name a stack_file, and one of outputs_file and pulumi_stack, or one of the three"),
        ({"outputs_file": "a", "pulumi_stack": "b"}, "name a stack_file, and one of outputs_file and pulumi_stack"),
        ({"outputs_file": "/nowhere"}, "outputs file '/nowhere' — cannot be read (No such file or directory)"),
        ({"stack_file": "/nowhere/Pulumi.a.yaml"}, "stack file '/nowhere/Pulumi.a.yaml' — is not there"),
    ],
    ids=["none", "two", "no outputs", "no stack"],
)
def test_a_source_that_tells_no_hosts_is_refused(stack: Path, sources: dict[str, Any], said: str) -> None:
    """In one sentence."""
    assert said in _refused(stack, **sources)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "there is no pulumi on PATH — install it"),
        ("echo error: no stack named prod >&2; exit 255", "ends with 255: no stack named prod — see: pulumi stack ls"),
        ("echo Updating", "is not JSON"),
    ],
    ids=["no pulumi", "no stack", "something else"],
)
def test_a_pulumi_that_does_not_answer_is_told(
    stack: Path, script: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it said."""
    if script:
        (stack / "pulumi").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (stack / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{stack}:/bin" if script else str(stack))
    assert said in _refused(stack, pulumi_stack="prod")


def test_a_stack_that_names_other_hosts_than_are_deployed_is_refused(stack: Path) -> None:
    """Before somebody plays on a host that has been given away."""
    other = outputs(plan_of({"pools/gpus/machines": machines(name="gpus-9")}))
    (stack / "outputs.json").write_text(json.dumps(other), encoding="utf-8")
    files = {"stack_file": str(stack / "Pulumi.prod.yaml"), "outputs_file": str(stack / "outputs.json")}
    assert "host 'gpus-3' — is in the stack file, and not in the outputs — run pulumi up" in _refused(stack, **files)


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken"])
def test_a_broken_source_ends_the_run(stack: Path, broken: bool) -> None:
    """Ansible as ansible.cfg sets it up; by default it would warn, and play on no host."""
    named = "/nowhere" if broken else str(stack / "outputs.json")
    (stack / "railwright.yml").write_text(f"{{plugin: railwright, outputs_file: {named}}}", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ansible-inventory")), "-i", str(stack / "railwright.yml"), "--list"]
    done = subprocess.run(
        command, cwd=ANSIBLE, env={**os.environ, "PYTHONPATH": str(REPO)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) is broken, done.stderr
    assert ("gpus-3" in done.stdout) is not broken
