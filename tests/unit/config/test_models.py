"""Models: frozen, typed, and with defaults that need no thought."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from infra.config.base import parse_duration
from infra.config.models import Model
from tests.unit.plan.specs import STACK

CHAT: dict[str, Any] = STACK["models"]["chat"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h2m3s", 3723), (" 5m ", 300), ("168h", 604_800)],
    ids=lambda value: str(value).strip(),
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: int) -> None:
    """Hours, minutes, seconds, in that order."""
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", ["", "s", "5", "5 m", "1m1h", "-5s", "1.5h", "169h", "0s", 5, 0.5, None, True], ids=repr
)
def test_what_is_no_duration_is_refused(value: Any) -> None:
    """A bare number too: nobody could tell seconds from minutes."""
    with pytest.raises(ValueError, match=r"duration|range"):
        parse_duration(value)


def test_a_model_cannot_be_changed_after_it_was_read() -> None:
    """What was judged is what is carried out."""
    model = Model.model_validate(CHAT)
    with pytest.raises(ValidationError, match="frozen"):
        model.replicas = 9


@pytest.mark.parametrize("version", ["0.32", "v0.32.0", "0.32.0rc1", "latest", ""], ids=repr)
def test_an_engine_version_is_exact(version: str) -> None:
    """Memory rules follow the version; a vague one has none."""
    with pytest.raises(ValidationError, match="engine_version"):
        Model.model_validate({**CHAT, "engine_version": version})


@pytest.mark.parametrize("revision", ["main", "0" * 39, "0" * 41, "G" * 40], ids=["branch", "short", "long", "no hex"])
def test_a_checkpoint_is_named_by_commit(revision: str) -> None:
    """A branch can change under a running model."""
    weights = {"claim": "chat", "storage_class": "fast", "repository": "a/b", "revision": revision}
    with pytest.raises(ValidationError, match="revision"):
        Model.model_validate({**CHAT, "weights": weights})


@pytest.mark.parametrize("name", ["Chat", "a/b", "a" * 31, "-a", "a-"], ids=str)
def test_a_claim_is_a_name_that_kubernetes_takes(name: str) -> None:
    """Told now, not by the API server halfway through an update."""
    weights = {"claim": name, "storage_class": "fast", "repository": "a/b", "revision": "0" * 40}
    with pytest.raises(ValidationError, match="claim"):
        Model.model_validate({**CHAT, "weights": weights})
