"""Pulumi's history is read as it comes: sections of the stack file, secrets hidden, counts in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.errors import Unknown
from runbooks.lib.history import History
from runbooks.lib.stack import Stack

ENTRY: dict[str, Any] = {
    "version": 0,
    "kind": "update",
    "startTime": "2026-01-02T03:04:05.000Z",
    "message": "models: larger batches",
    "result": "succeeded",
    "environment": {"git.head": "0123456789abcdef"},
    "resourceChanges": {"same": 20, "update": 2},
    "config": {
        "railwright:models": {"value": "{}", "objectValue": {"a": {"replicas": 2}}},
        "railwright:keys": {"value": "{}", "objectValue": {"k": {"secret": "[secret]"}}},
        "other:thing": {"value": "x"},
    },
}


def _history(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]) -> History:
    history = History(Stack("lab"))
    monkeypatch.setattr(history, "_pulumi", lambda *words: answers[words[0]])
    return history


def test_an_update_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """When, from which commit, and what it changed; what stayed the same is left out."""
    found = _history(monkeypatch, {"history": [ENTRY]}).updates()[0]
    assert str(found) == "update succeeded at 01234567 (models: larger batches): update 2"
    assert found.at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_config_is_our_sections_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key's value is replaced by something of its form."""
    config = _history(monkeypatch, {"history": [ENTRY]}).updates()[0].config
    assert config["models"] == {"a": {"replicas": 2}}
    assert "thing" not in config
    assert len(config["keys"]["k"]["secret"]) >= 32
    assert "[secret]" not in json.dumps(config)


def test_what_was_applied_is_found_by_kind_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else of the same name."""
    inputs = {"kind": "Deployment", "metadata": {"namespace": "models", "name": "a"}, "spec": {"replicas": 2}}
    exported = {"deployment": {"resources": [{"type": "pulumi:pulumi:Stack"}, {"inputs": inputs}]}}
    history = _history(monkeypatch, {"export": exported})
    assert history.applied("Deployment", "models", "a") == inputs
    assert history.applied("Service", "models", "a") is None
    assert history.applied("Deployment", "gateway", "a") is None


def test_without_pulumi_nothing_can_be_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The sentence says where to get it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unknown, match="lab env"):
        History(Stack("lab")).updates()
