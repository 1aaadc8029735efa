"""The command ``lab``: exit codes, errors as people read them, one change at a time."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import httpx
import pytest

from infra.errors import CheckError, ConfigError, RailwrightError, Unknown
from lab import cli, first_request
from lab.commands import run_logged
from lab.lock import only_one
from lab.steps import State, Step, StepError


def wrapped(cause: RailwrightError) -> StepError:
    """The error of a step that failed for this cause."""
    state = State(Step("tools", lambda report: None), Path("/logs/tools.log"), "failed", error=cause)
    error = StepError(state)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CheckError("a"), 1),
        (ConfigError("a"), 2),
        (Unknown("a"), 3),
        (wrapped(CheckError("a")), 1),
        (wrapped(ConfigError("a")), 2),
    ],
    ids=["failed", "refused", "unknown", "failed step", "refused step"],
)
def test_the_exit_code_tells_the_kind_of_no(
    error: RailwrightError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kind of error has its code, and none shows a traceback."""

    def fail(args: Namespace) -> int:
        raise error

    monkeypatch.setattr(cli, "env", fail)
    monkeypatch.setattr(cli.signal, "signal", lambda number, handler: None)
    fail.__name__ = "env"
    assert cli.main(["env"]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        ("disk — 9 GiB free — 16 are needed — make room", "disk: 9 GiB free; 16 are needed\n  fix: make room"),
        ("key 'a' — is unknown — name another", "key 'a': is unknown\n  fix: name another"),
        ("no dashes here", "no dashes here"),
    ],
    ids=["four parts", "three parts", "one part"],
)
def test_an_error_is_printed_with_its_fix_on_a_line_of_its_own(problem: str, text: str) -> None:
    """A person sees what to do without reading to the end of a long line."""
    assert cli.printed(problem) == text


def test_every_problem_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two refusals both are shown."""
    cli.report_error(ConfigError("disk — full — room — make some", "user — nobody — root — run as root"))
    assert [line for line in capsys.readouterr().err.splitlines() if "fix" in line] == [
        "  fix: make some",
        "  fix: run as root",
    ]


def test_a_second_change_of_one_clone_is_refused_by_name(tmp_path: Path) -> None:
    """While one process holds the lab, another is told which one it is; afterwards it may."""
    code = f"from lab.lock import only_one\nfrom pathlib import Path\nwith only_one(Path({str(tmp_path / 'lock')!r})): "
    with only_one(tmp_path / "lock"):
        second = subprocess.run([sys.executable, "-c", code + "pass"], capture_output=True, text=True, check=False)
    third = subprocess.run([sys.executable, "-c", code + "pass"], capture_output=True, text=True, check=False)
    assert "is changing it" in second.stderr
    assert third.returncode == 0


def test_a_failed_program_shows_its_last_lines_and_its_log(tmp_path: Path) -> None:
    """The error alone is enough to see what went wrong, and the log has all of it."""
    lines: list[str] = []
    argv = ["sh", "-c", "for n in $(seq 50); do echo line $n; done; echo oh no >&2; exit 3"]
    with pytest.raises(CheckError, match=r"ended with code 3[\s\S]*oh no[\s\S]*a\.log"):
        run_logged(argv, tmp_path / "a.log", lines.append)
    assert lines[0] == "line 1"
    assert "line 1\n" in (tmp_path / "a.log").read_text()


STREAM = (
    'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\ndata: {"choices": [{"delta": {"content": "lo"}}]}\n\n'
    'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)
"""What a vLLM streams for two tokens."""


def gateway(status: int, text: str) -> httpx.Client:
    """A gateway that always answers so."""
    return httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(status, text=text)))


def test_the_first_request_counts_tokens_and_the_time_to_the_first() -> None:
    """The time ends at the first piece of text, not at the role that comes before it."""
    ticks = iter([10.0, 10.5, 11.0])
    answer = first_request.ask(gateway(200, STREAM), "http://gw/v1", "tiny", "key", lambda: next(ticks))
    assert (answer.text, answer.tokens, answer.first_token_s, answer.total_s) == ("Hello", 2, 0.5, 1.0)


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "does not know the key"), (404, "does not know the model"), (503, "no replica"), (500, "lab doctor")],
)
def test_a_refused_first_request_says_whose_fault_it_is(status: int, said: str) -> None:
    """Each status of the gateway leads to the part that is to blame."""
    with pytest.raises(httpx.HTTPStatusError) as caught:
        first_request.ask(gateway(status, "{}"), "http://gw/v1", "tiny", "key")
    assert said in first_request.explain(caught.value, "http://gw/v1", "tiny")


def test_a_stream_without_text_is_no_answer() -> None:
    """A stream that ends well and says nothing is a failure."""
    with pytest.raises(CheckError, match="streamed no text"):
        first_request.ask(gateway(200, "data: [DONE]\n\n"), "http://gw/v1", "tiny", "key")
