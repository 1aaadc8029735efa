"""Stack outputs are a contract: plain, complete, and without a secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.plan.outputs import SCHEMA_VERSION, outputs
from tests.unit.plan.machines import NAMED
from tests.unit.plan.specs import STACK, plan_of


def test_outputs_have_the_shape_of_their_version() -> None:
    """Whoever changes this list raises SCHEMA_VERSION."""
    assert SCHEMA_VERSION == 2
    names = ["cluster", "gateway", "keys", "models", "pools", "schema_version", "ssh_config", "target"]
    assert sorted(outputs(plan_of())) == names


@pytest.mark.parametrize("changes", [{}, NAMED], ids=["hosts by number", "hosts by name"])
def test_outputs_are_plain_data(changes: dict[str, Any]) -> None:
    """`pulumi stack output --json` prints them as they are."""
    got = outputs(plan_of(changes))
    assert json.loads(json.dumps(got)) == got


def test_outputs_hold_no_key() -> None:
    """Tenants and tiers are told, values never."""
    got = outputs(plan_of())
    assert got["keys"] == {"team": {"tenant": "team", "tier": "standard", "models": ["chat"]}}
    assert STACK["keys"]["team"]["secret"] not in repr(got)


def test_a_key_for_some_models_lists_those() -> None:
    """And not all that are served."""
    other = {**STACK["models"]["chat"], "weights": {"host_path": "/w"}}
    got = outputs(plan_of({"models/other": other, "keys/team/models": ["other"]}))
    assert got["keys"]["team"]["models"] == ["other"]
