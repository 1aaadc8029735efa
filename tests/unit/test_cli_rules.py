"""`infra rules` prints what Prometheus loads, and refuses a stack that has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.cli import main
from tests.unit.plan.specs import changed

WATCHED = {"observability": {"storage": {"size_gib": 100}}}


def _stack(folder: Path, changes: dict[str, Any]) -> str:
    path = folder / "Pulumi.test.yaml"
    config = {f"railwright:{key}": value for key, value in changed(changes).items()}
    path.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    return str(path)


def test_both_forms_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule file as YAML, and the same as JSON."""
    stack = _stack(tmp_path, WATCHED)
    assert main(["rules", stack]) == 0
    written = yaml.safe_load(capsys.readouterr().out)
    assert main(["rules", stack, "--json"]) == 0
    assert written == json.loads(capsys.readouterr().out)
    assert {"plan", "model", "alerts-gpus"} <= {group["name"] for group in written["groups"]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [({}, "observability"), (WATCHED | {"models/chat/min_available": 2}, "min_available")],
    ids=["nothing watches it", "refused"],
)
def test_a_stack_without_rules_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], says: str
) -> None:
    """Exit code 2 and the reason, and nothing that could be taken for a rule file."""
    assert main(["rules", _stack(tmp_path, changes)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err
