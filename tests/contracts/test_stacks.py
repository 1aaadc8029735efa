"""Every stack of the repository is one that works."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from infra.catalog.boards import BOARDS
from infra.config.load import PROJECT, from_file
from infra.plan.build import build

REPO = Path(__file__).resolve().parents[2]
STACKS = sorted((REPO / "stacks").glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_stack_has_no_mistake_and_nothing_refused(path: Path, tmp_path: Path) -> None:
    """In a fresh clone, before any image or key exists."""
    shutil.copytree(REPO / "stacks", tmp_path / "stacks")
    spec = from_file(path, tmp_path)
    assert spec.problems == ()
    assert spec.stack is not None
    assert [str(refusal) for refusal in build(spec, spec.stack).refusals] == []


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_stack_holds_no_value_of_a_key(path: Path) -> None:
    """Sealed by Pulumi or in a file that git ignores."""
    keys = yaml.safe_load(path.read_text(encoding="utf-8"))["config"].get(f"{PROJECT}:keys", {})
    for key in keys.values():
        assert key.get("secret_file", ".lab/").startswith(".lab/")
        assert set(key.get("secret", {"secure": ""})) == {"secure"}


def test_the_production_example_has_a_thousand_gpus() -> None:
    """125 hosts of 8."""
    spec = from_file(REPO / "stacks/Pulumi.bare-b300.yaml")
    assert spec.stack
    pools = spec.stack.pools.values()
    assert sum(pool.hosts for pool in pools) == 125
    assert sum(pool.hosts * BOARDS[pool.board].gpus for pool in pools) == 1000


def test_the_project_is_named_as_config_keys_are() -> None:
    """Pulumi takes the namespace of config keys from Pulumi.yaml."""
    assert yaml.safe_load((REPO / "Pulumi.yaml").read_text(encoding="utf-8"))["name"] == PROJECT
