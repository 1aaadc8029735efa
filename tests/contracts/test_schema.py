"""The published JSON schema is the one that the code has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.cli import main

REPO = Path(__file__).resolve().parents[2]


def test_the_published_schema_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """Write it again with `infra plan --schema > docs/plan.schema.json`."""
    assert main(["plan", "--schema"]) == 0
    assert (REPO / "docs/plan.schema.json").read_text(encoding="utf-8") == capsys.readouterr().out


def test_every_object_of_the_schema_says_what_it_is() -> None:
    """And allows nothing that it does not name."""
    schema = json.loads((REPO / "docs/plan.schema.json").read_text(encoding="utf-8"))
    assert [name for name, part in schema["$defs"].items() if not part.get("description")] == []
    assert [name for name, part in schema["$defs"].items() if part["additionalProperties"] is not False] == []
