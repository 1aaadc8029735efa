"""The command ``lab``: exit codes, errors as people read them, one change at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil
import pytest

from infra.errors import CheckError, ConfigError, RailwrightError, Unknown
from lab import cli, first_request, serving
from lab.cluster import marks
from lab.cluster.status import age
from lab.commands import end_orphans, run_logged
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


@pytest.mark.parametrize(
    ("cwd", "search", "want"),
    [
        (".", "/usr/bin", ".venv/bin/lab"),
        ("elsewhere", "/usr/bin", "{root}/.venv/bin/lab"),
        ("elsewhere", "{root}/.venv/bin", "lab"),
    ],
    ids=["in the clone", "elsewhere", "on PATH"],
)
def test_the_last_line_of_lab_up_can_be_pasted(
    cwd: str, search: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that it names works from where the user is."""
    scripts = tmp_path / ".venv/bin"
    scripts.mkdir(parents=True)
    (scripts / "lab").touch(mode=0o755)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / cwd)
    monkeypatch.setenv("PATH", search.format(root=tmp_path))
    monkeypatch.setattr(cli.sysconfig, "get_path", lambda name: str(scripts))
    assert cli.own_name() == want.format(root=tmp_path)


@pytest.mark.parametrize(
    ("simulated", "with_stack", "named"),
    [(False, True, {"pulumi", "kubectl", "OpenAI"}), (True, True, {"pulumi", "kubectl"}), (False, False, {"kubectl"})],
    ids=["full", "simulated", "no stack"],
)
def test_a_simulated_lab_promises_no_clients(*, simulated: bool, with_stack: bool, named: set[str]) -> None:
    """The last line names only what works in this lab, and says where plain Pulumi goes too far."""
    words = cli.next_words(".venv/bin/lab", simulated=simulated, with_stack=with_stack)
    assert words.startswith('next: eval "$(.venv/bin/lab env)"')
    assert {name for name in ("pulumi", "kubectl", "OpenAI") if name in words} == named
    assert ("nowhere to run" in words) is simulated


@pytest.mark.parametrize(
    ("verb", "runs", "names"),
    [("up", True, {"lab up", "lab down"}), ("up", False, {"lab up"}), ("down", True, {"lab down"})],
)
def test_an_interrupted_lab_says_whether_the_cluster_stays_up(verb: str, runs: bool, names: set[str]) -> None:
    """Ctrl-C ends the command, not the cluster; the user learns how to go on and how to stop."""
    words = cli.stays(verb, runs=runs)
    assert {name for name in ("lab up", "lab down") if f"`{name}`" in words} == names


@pytest.mark.parametrize(("was_there", "said"), [(True, "the lab is down"), (False, "the lab is already down")])
def test_a_second_lab_down_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, was_there: bool, said: str
) -> None:
    """Who takes down what is down is told."""
    monkeypatch.setattr(cli.paths, "state_dir", lambda: tmp_path)
    monkeypatch.setattr("lab.cluster.stop.stop", lambda report, purge: was_there)
    assert cli.down(Namespace(purge=False)) == 0
    assert capsys.readouterr().out.startswith(said)


def test_what_a_killed_lab_up_left_is_found_by_its_mark() -> None:
    """A program that carries the mark ends; the same program without it, as run by hand, lives on."""
    lab_id = "test" + os.urandom(4).hex()
    argv = ["sleep", "600"]
    with (
        subprocess.Popen(argv, env={**os.environ, marks.PROGRAM: lab_id}) as orphan,
        subprocess.Popen(argv) as by_hand,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(cli.paths, "lab_id", lambda: lab_id)
        try:
            told: list[str] = []
            end_orphans(told.append)
            assert str(orphan.pid) in told[0]
            assert not psutil.pid_exists(orphan.pid)
            assert by_hand.poll() is None
        finally:
            orphan.kill()
            by_hand.kill()


@pytest.mark.parametrize(
    ("ready", "gateway", "want"),
    [
        ([], "http://gw/v1", ""),
        ([("gateway", True), ("models", True), ("models", False), ("kube-system", True)], "http://gw/v1",
         "gateway http://gw/v1: 1 of 1 gateway pods ready, 1 of 2 model pods ready"),
        ([("models", True)], None, "1 of 1 model pods ready"),
    ],
    ids=["no stack", "full", "simulated"],
)  # fmt: skip
def test_status_says_whether_the_stack_serves(ready: list[tuple[str, bool]], gateway: str | None, want: str) -> None:
    """Ready pods are counted by kind; a cluster without a stack has no such line."""
    pods = [
        {
            "metadata": {"namespace": namespace},
            "status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]},
        }
        for namespace, is_ready in ready
    ]
    assert serving.said(pods, gateway) == want


@pytest.mark.parametrize(
    ("seconds", "want"), [(0, "0s"), (179, "179s"), (180, "3m"), (10_799, "179m"), (10_800, "3h"), (172_800, "2d")]
)
def test_status_shows_ages(seconds: int, want: str) -> None:
    """Nobody subtracts time stamps; a part that never ran has no age."""
    born = datetime(2026, 1, 1, tzinfo=UTC)
    assert age(born.isoformat(), born + timedelta(seconds=seconds)) == want
    assert age("", born) == ""


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


@pytest.mark.parametrize(
    ("status", "said"), [(503, "no replica is ready yet"), (404, "does not know it yet"), (502, "answers 502")]
)
def test_the_wait_for_the_first_answer_is_told_in_words(status: int, said: str) -> None:
    """While an answer may still come, the model and the reason are named, not what the gateway sent."""
    with pytest.raises(httpx.HTTPStatusError) as caught:
        first_request.ask(gateway(status, '{"error": {}}'), "http://gw/v1", "tiny", "key")
    words = first_request.waits_for(caught.value, "tiny")
    assert words.startswith("waiting for model 'tiny' (")
    assert said in words
    assert "{" not in words


def test_a_stream_without_text_is_no_answer() -> None:
    """A stream that ends well and says nothing is a failure."""
    with pytest.raises(CheckError, match="streamed no text"):
        first_request.ask(gateway(200, "data: [DONE]\n\n"), "http://gw/v1", "tiny", "key")
