"""Inputs as options: what is understood, what is refused, how a command is written down."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field, SecretStr

from infra.errors import ConfigError
from runbooks.engine.model import Inputs, Outcome, Runbook, step
from runbooks.engine.options import add_inputs, command_line, describe, read_inputs, span, takes_text
from runbooks.engine.words import Parser


class Everything(Runbook):
    """Has an input of each kind."""

    class Inputs(Inputs):
        """One of each."""

        model: Literal["tiny", "large"]
        replicas: int = Field(1, ge=1, description="how many, up to 100%")
        share: float = 0.5
        host: tuple[str, ...] = ()
        force: bool = False
        wait_for: timedelta = timedelta(minutes=1)
        report: Path | None = None
        token: SecretStr | None = None

    @step("look", writes=False)
    def look(self, ctx: object) -> Outcome:
        return Outcome.ok("seen")


def parse(*words: str) -> Inputs:
    parser = Parser("runbook run")
    parser.add_argument("--stack", default="")
    add_inputs(parser, Everything.Inputs)
    given, unknown = parser.parse_known_args(list(words))
    return read_inputs(Everything, given, unknown)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (("--model", "large"), "model", "large"),
        (("--replicas", "3"), "replicas", 3),
        (("--share=0.25",), "share", 0.25),
        (("--host", "a", "--host", "b"), "host", ("a", "b")),
        (("--force",), "force", True),
        (("--no-force",), "force", False),
        (("--wait-for", "1h30m"), "wait_for", timedelta(minutes=90)),
        (("--report", "x/y.json"), "report", Path("x/y.json")),
        ((), "wait_for", timedelta(minutes=1)),
    ],
    ids=str,
)
def test_each_kind_of_input_is_read(words: tuple[str, ...], name: str, value: object) -> None:
    """From text to what the runbook declares."""
    assert getattr(parse("--model", "tiny", *words), name) == value


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--replicas", "two"), "--replicas — 'two' was found — allowed: a whole number"),
        (("--replicas", "0"), "--replicas — '0' was found — allowed: input should be greater than or equal to 1"),
        (("--share", "much"), "--share — 'much' was found — allowed: a number"),
        (("--wait-for", "5 minutes"), "--wait-for — '5 minutes' was found — allowed: a span of time"),
        (("--token", "/nowhere"), "--token — '/nowhere' cannot be read"),
        (("--hots", "a"), "--hots — is no option of"),
        (("astray",), "'astray' — belongs to no option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_each_mistake_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    """Who, what was found, what is allowed."""
    with pytest.raises(ConfigError) as raised:
        parse("--model", "tiny", *words)
    assert [problem.startswith(sentence) for problem in raised.value.problems] == [True]


def test_a_misspelt_option_is_not_missing_as_well(tmp_path: Path) -> None:
    """One mistake, one sentence; a second mistake is told beside it."""
    with pytest.raises(ConfigError) as raised:
        parse("--modle", "tiny", "--replicas", "x")
    assert [problem.split(" ")[0] for problem in raised.value.problems] == ["--modle", "--replicas"]


def test_a_secret_comes_from_a_file_and_is_never_told(tmp_path: Path) -> None:
    """Command lines are seen by everybody on a machine."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    inputs = parse("--model", "tiny", "--token", str(file))
    assert inputs.token.get_secret_value() == "s3cret"  # type: ignore[attr-defined]
    assert "s3cret" not in command_line(Everything, "lab", inputs)


def test_the_command_line_reads_back_to_the_same_inputs() -> None:
    """Defaults are left out; what is quoted stays one word."""
    import shlex

    inputs = parse("--model", "tiny", "--host", "a b", "--force", "--wait-for", "90s")
    words = shlex.split(command_line(Everything, "lab", inputs))
    assert words[:5] == ["runbook", "run", Everything.command(), "--stack", "lab"]
    assert parse(*words[5:]) == inputs


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400), ("2d", 172800)]
)
def test_spans_of_time_are_read_as_people_write_them(text: str, seconds: float) -> None:
    """One or several numbers with units."""
    assert span(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5m!", "1x"])
def test_what_is_no_span_of_time_is_refused(text: str) -> None:
    """No unit is guessed."""
    with pytest.raises(ValueError, match=r".*"):
        span(text)


def test_only_text_may_come_from_outside() -> None:
    """A label must not name a path, a secret or a switch."""
    fields = Everything.Inputs.model_fields
    assert [name for name in fields if not takes_text(fields[name])] == ["force", "report", "token"]


def test_the_description_lists_what_is_allowed() -> None:
    """Option, allowed, default, meaning."""
    rows = {row[0]: row[1:] for row in describe(Everything.Inputs)}
    assert rows["--model"] == ("tiny, large", "required", "")
    assert rows["--wait-for"][1] == "60s"
    assert rows["--host"][0] == "text (may be repeated)"
