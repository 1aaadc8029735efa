"""The plan, the scope of the lock, secrets, and mistakes in runbooks themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from runbooks.engine.discover import class_name, commands, listed, load
from runbooks.engine.model import Inputs, Outcome, Runbook, Target, step
from runbooks.engine.plain import MASK, masked, plain
from runbooks.engine.plan import mistakes, scope


class Asked(Inputs):
    """What the tests give."""

    model: str = "tiny"
    api_token: str = "abc"
    hidden: SecretStr = SecretStr("abc")
    max_tokens: int = 5
    token_file: Path = Path("/x")
    do: Literal["nothing", "go"] = "nothing"


def a_step(**settings: Any) -> Any:
    """Make a step that does nothing."""
    return step("a title", **settings)(lambda self, ctx: Outcome.ok(""))


def book(lock: str = "{stack}", **steps: Any) -> type[Runbook]:
    return type("Book", (Runbook,), {"Inputs": Asked, "lock": lock, "__module__": "runbooks.x.book", **steps})


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [("{stack}", "lab"), ("{stack}/model/{model}", "lab/model/tiny"), ("model/{model}", "lab/model/tiny")],
)
def test_a_scope_always_begins_with_the_stack(lock: str, wanted: str) -> None:
    """Otherwise it would meet the scopes of other stacks."""
    assert scope(book(lock), "lab", Asked()) == wanted


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (book(), "has no step"),
        (book(s=a_step(undo="nowhere")), "undo 'nowhere' of step"),
        (book(s=a_step(undo="title", writes=False)), "has an undo but writes nothing"),
        (book(s=a_step(recheck=True)), "so it cannot be asked again"),
        (book(s=a_step(only="restart")), "is no value of the input do"),
        (book("{stack}/{nope}", s=a_step()), "names 'nope', which is no input"),
    ],
    ids=["no step", "no undo", "read with undo", "write asked again", "no such do", "no such input"],
)
def test_a_runbook_that_is_wrong_in_itself_is_found_before_it_runs(made: type[Runbook], sentence: str) -> None:
    """Each mistake by its sentence."""
    (found,) = mistakes(made)
    assert sentence in found


@pytest.mark.parametrize("command", [one for one in commands() if not one.startswith("sample/")])
def test_every_shipped_runbook_is_right_in_itself_and_listed_as_it_is(command: str) -> None:
    """Its module holds the class of its name, and reading its source says what importing it says."""
    loaded = load(command)
    assert mistakes(loaded) == []
    told = {one.command: one for one in listed()}[command]
    assert (told.title, told.answers, told.owner) == (loaded.title(), loaded.answers, loaded.owner)
    assert loaded.command() == command


def test_modules_and_classes_have_the_same_name() -> None:
    """The path is the command."""
    assert class_name("serving/recover_engine") == "RecoverEngine"


def test_what_is_or_looks_like_a_secret_is_masked() -> None:
    """Counts of tokens and paths of files are none."""
    assert masked(Asked()) == {
        "model": "tiny",
        "api_token": MASK,
        "hidden": MASK,
        "max_tokens": 5,
        "token_file": "/x",
        "do": "nothing",
    }


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (timedelta(minutes=1), 60.0),
        (datetime(2026, 12, 2, tzinfo=UTC), "2026-12-02T00:00:00+00:00"),
        (Target("pod", "a", "models"), "pod/models/a"),
        ({"b", "a"}, ["a", "b"]),
        (float("nan"), "nan"),
        ({1: (Path("x"),)}, {"1": ["x"]}),
        (Outcome.ok("x", n=1), {"verdict": "ok", "said": "x", "facts": {"n": 1}}),
    ],
    ids=str,
)
def test_plain_data_is_what_json_holds(value: object, wanted: object) -> None:
    """So that facts are the same before and after a crash."""
    assert plain(value) == wanted
