"""Evidence: a record of what a smaller format scored, complete or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from infra.config.evidence import Evidence
from infra.plan.build import build
from tests.unit.plan.specs import read

SCORE: dict[str, Any] = {
    "checkpoint": "meta-llama/Llama-3.1-8B-Instruct",
    "quantisation": "fp8",
    "task": "our tickets",
    "baseline_score": 0.80,
    "quantised_score": 0.79,
    "allowed_loss": 0.01,
    "date": "2026-11-20",
}


def _score(**changes: Any) -> Evidence:
    return Evidence.model_validate({**SCORE, **changes})


@pytest.mark.parametrize(
    ("changes", "loss", "holds"),
    [
        ({}, 0.01, True),
        ({"quantised_score": 0.7899}, 0.0101, False),
        ({"quantised_score": 0.85}, -0.05, True),
        ({"allowed_loss": 0, "quantised_score": 0.80}, 0.0, True),
        ({"is_lower_better": True, "baseline_score": 6.1, "quantised_score": 6.2, "allowed_loss": 0.2}, 0.1, True),
        ({"is_lower_better": True, "baseline_score": 6.1, "quantised_score": 6.4, "allowed_loss": 0.2}, 0.3, False),
    ],
    ids=["exactly allowed", "a hair more", "better", "equal", "perplexity", "perplexity too high"],
)
def test_a_loss_holds_when_it_is_one_that_is_allowed(changes: dict[str, Any], loss: float, holds: bool) -> None:
    """Points of the score, in the direction in which the score is good."""
    score = _score(**changes)
    assert score.loss == pytest.approx(loss)
    assert score.holds is holds


@pytest.mark.parametrize("key", ["checkpoint", "task", "baseline_score", "quantised_score", "allowed_loss", "date"])
def test_a_record_lacks_nothing(key: str) -> None:
    """What was scored, on what, when, what came out, and what may be lost."""
    with pytest.raises(ValidationError, match=key):
        Evidence.model_validate({name: value for name, value in SCORE.items() if name != key})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("date", "last week"),
        ("baseline_score", 0),
        ("quantised_score", -1),
        ("quantised_score", ".nan"),
        ("allowed_loss", -0.1),
        ("allowed_loss", 1e9),
        ("quantised_score", True),
        ("task", ""),
        ("quantized_score", 0.8),
    ],
)
def test_a_record_that_says_nothing_is_refused(key: str, value: Any) -> None:
    """A score of nothing, a loss that must be a gain, a key in another spelling."""
    with pytest.raises(ValidationError, match=key):
        _score(**{key: value})


def test_an_error_rate_may_not_double() -> None:
    """Any perplexity would have done with a loss of a billion; as with scores, all of the baseline is too much."""
    with pytest.raises(ValidationError, match="twice as bad"):
        _score(is_lower_better=True, baseline_score=6.1, quantised_score=1e8, allowed_loss=1e9)


def _said(tmp_path: Path, text: str | None) -> list[str]:
    if text is not None:
        (tmp_path / "scores.yaml").write_text(text, encoding="utf-8")
    return list(read({"models/chat/evidence": "scores.yaml"}, root=tmp_path).problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "models.chat.evidence: 'scores.yaml' cannot be read (No such file or directory); name a file"),
        ("[", "models.chat.evidence: 'scores.yaml' is not YAML or JSON"),
        ("a: b", "scores.yaml: models.chat.evidence: {'a': 'b'} is not allowed; it should be a valid list"),
        ("- {task: our tickets}", "scores.yaml: models.chat.evidence.0.checkpoint: missing; add it"),
        ("[" * 100_000, "models.chat.evidence: 'scores.yaml' is not YAML or JSON"),
        ("- {tsk: our tickets}", "scores.yaml: models.chat.evidence.0.tsk: no such key; did you mean 'task'?"),
    ],
    ids=["no file", "no YAML", "no list", "incomplete", "nested without end", "mistyped"],
)
def test_a_file_of_scores_that_cannot_be_read_is_a_mistake(tmp_path: Path, text: str | None, said: str) -> None:
    """Told beside all other mistakes of the stack, with the key and the file."""
    assert any(problem.startswith(said) for problem in _said(tmp_path, text)), _said(tmp_path, text)


def test_a_file_of_scores_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    """It was also called a missing score."""
    spec = read({"models/chat/evidence": "scores.yaml", "models/chat/kv_cache_dtype": "fp8"}, root=tmp_path)
    assert spec.stack is not None
    assert [refusal.key for refusal in build(spec, spec.stack).refusals] == []
    assert len(spec.problems) == 1


def test_scores_are_read_with_the_stack(tmp_path: Path) -> None:
    """By the model that names them."""
    (tmp_path / "scores.json").write_text(f"[{_score().model_dump_json()}]", encoding="utf-8")
    assert read({"models/chat/evidence": "scores.json"}, root=tmp_path).evidence == {"chat": (_score(),)}


def test_a_score_from_a_day_to_come_is_a_mistake(tmp_path: Path) -> None:
    """Nobody has measured it; a file dated 2999 allowed FP8."""
    (tmp_path / "scores.json").write_text(f"[{_score(date='2999-01-01').model_dump_json()}]", encoding="utf-8")
    spec = read({"models/chat/evidence": "scores.json"}, root=tmp_path)
    assert [problem.split(",")[0] for problem in spec.problems] == [
        "models.chat.evidence: 'scores.json' scores 'our tickets' on 2999-01-01"
    ]
    assert spec.evidence == {"chat": ()}
