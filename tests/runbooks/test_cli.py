"""The command line: every mistake at once, JSON, JUnit, protected stacks, history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from infra.errors import ConfigError
from runbooks import cli
from runbooks.engine.site import Site
from tests.runbooks.conftest import Heard, Place


@pytest.fixture
def call(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command line in this process; exit code, stdout, stderr."""
    monkeypatch.setenv("RAILWRIGHT_RUNS", str(place.runs))

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(words)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def writing(place: Place, *words: str) -> list[str]:
    return ["run", "sample/write_files", "--stack", "lab", "--folder", str(place.folder), "--local-lock", *words]


def test_all_mistakes_are_told_at_once_and_nothing_is_touched(call: Any, place: Place) -> None:
    """Stack, option, value and missing input, each with the nearest name or what is allowed."""
    code, out, err = call(
        "run", "sample/write_files", "--stack", "lba", "--secnd", "fail", "--first", "fial", "--lasts", "x"
    )
    assert (code, out) == (2, "")
    for sentence in (
        "--stack — 'lba' was found",
        "did you mean 'lab'?",
        "--secnd — is no option of sample/write_files — did you mean '--second'?",
        "--first — 'fial' was found",
        "did you mean 'fail'?",
        "--folder — is missing",
        "--lasts — 'x' was found — allowed: a span of time such as 30s, 5m or 1h30m",
    ):
        assert sentence in err
    assert not place.runs.exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "sample/write_file", "--stack", "lab"], "did you mean 'sample/write_files'?"),
        (["show", "FileMissing"], "it is an alert, answered by sample/choose_cure, sample/write_files"),
        (["histroy"], "invalid choice"),
        (["list", "--jsn"], "did you mean '--json'?"),
        (["undo", "2020"], "is not known"),
        (["abort", "2020"], "is not known"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_name_is_refused_with_a_hint(call: Any, words: list[str], hint: str) -> None:
    """Exit 2, one sentence, no traceback."""
    code, _, err = call(*words)
    assert code == 2
    assert hint in err


def test_list_and_show_have_a_machine_form(call: Any) -> None:
    """Title, alerts, inputs, steps and their undo."""
    listed = {one["command"]: one for one in json.loads(call("list", "--json")[1])}
    assert listed["sample/choose_cure"]["answers"] == ["FileMissing", "FileOld"]
    shown = json.loads(call("show", "sample/write_files", "--json")[1])
    assert [step["undo"] for step in shown["steps"]] == ["", "Remove a", "Remove b", ""]
    assert {one["option"] for one in shown["inputs"]} >= {"--folder", "--lasts"}


def test_list_can_be_asked_for_an_alert(call: Any) -> None:
    """Only what answers it; exit 2 when nothing does."""
    assert [one["command"] for one in json.loads(call("list", "--json", "--alert", "FileOld")[1])] == [
        "sample/choose_cure"
    ]
    assert call("list", "--alert", "NoSuchAlert")[0] == 2


def test_json_of_a_run_is_alone_on_stdout(call: Any, place: Place) -> None:
    """Progress goes to stderr; the result says exit, steps, undo."""
    code, out, err = call(*writing(place, "--yes", "--second", "fail", "--json"))
    told = json.loads(out)
    assert (code, told["exit"], [step["name"] for step in told["undone"]]) == (1, 1, ["write_b", "write_a"])
    assert "undo of write b" in err


def test_junit_has_a_case_per_step_and_no_pass_for_what_failed(call: Any, place: Place) -> None:
    """A failure is a failure, and the run as a whole is a case as well."""
    file = place.root / "junit.xml"
    call(*writing(place, "--yes", "--second", "fail", "--junit", str(file)))
    (suite,) = JUnitXml.fromfile(str(file))
    assert {case.name for case in suite if case.is_failure} == {"write b", "run"}


def test_the_plan_comes_before_anything_else(call: Any, place: Place) -> None:
    """Targets by name, risk, lock, time and each step with its undo, before the first step."""
    _, out, _ = call(*writing(place))
    plan, _, rest = out.partition("1/4 ")
    for part in (f"target   folder/{place.folder}", "risk     a file more", "lock     lab/folder/x", "undo: Remove b"):
        assert part in plan
    assert "would write" in rest
    assert "nothing was written; --yes acts" in rest


def test_history_tells_who_ran_what_and_how_it_ended(call: Any, place: Place) -> None:
    """Newest first, dry runs too, with reason and ticket."""
    call(*writing(place))
    call(*writing(place, "--yes", "--second", "fail", "--reason", "paged", "--ticket", "OPS-7"))
    newest, oldest = json.loads(call("history", "--json")[1])
    assert (newest["mode"], newest["state"], newest["reason"], newest["ticket"]) == ("acts", "undone", "paged", "OPS-7")
    assert (oldest["mode"], oldest["state"]) == ("dry", "done")
    assert "undo_failed" not in call("history", newest["run_id"])[1]


def test_the_worst_outcome_of_several_runs_wins(call: Any, place: Place) -> None:
    """One that cannot be undone and one that can: 3."""
    bad = place.execute(second="fail", undo="fail").run_id
    good = place.execute(scope="y", second="none", folder=place.root).run_id
    assert call("undo", "--local-lock", bad, good)[0] == 3
    assert call("undo", "--local-lock", good, bad)[0] == 3
    assert call("undo", "--local-lock", good, "nonsense")[0] == 2


def test_a_command_whose_module_is_absent_says_so(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, not a traceback."""
    monkeypatch.setitem(cli.ELSEWHERE, "drill", ("runbooks.lib.nowhere.command", ""))
    code, _, err = call("drill", "x")
    assert (code, "there is no runbooks.lib.nowhere.command in this clone" in err) == (2, True)


@pytest.fixture
def protected(place: Place) -> Any:
    """Run on a stack that is protected, with what a person types."""
    from runbooks.engine.discover import load
    from runbooks.engine.run import Consent, execute

    book = load("sample/write_files")
    inputs = book.Inputs.model_validate({"folder": place.folder})

    def run(typed: str | None = None, **consent: Any) -> Any:
        prompt = None if typed is None else lambda question: typed
        site = Site(place.runs, screen=Heard(), is_protected=lambda stack: stack == "prod", prompt=prompt)
        return execute(book, inputs, stack="prod", site=site, consent=Consent(yes=True, **consent))

    return run


@pytest.mark.parametrize(
    ("typed", "consent", "exit_code", "said"),
    [
        (None, {"reason": "x"}, 2, "add --stack-name-again prod"),
        (None, {"stack_again": "prod"}, 2, "no reason is given"),
        (None, {"stack_again": "prd", "reason": "x"}, 2, "'prd'"),
        ("prd", {"reason": "x"}, 2, "typed as 'prd'"),
        ("prod", {"reason": "x"}, 0, "done"),
        (None, {"stack_again": "prod", "reason": "x"}, 0, "done"),
    ],
    ids=["no name", "no reason", "wrong name", "wrong name typed", "typed", "given"],
)
def test_a_protected_stack_wants_its_name_and_a_reason(
    protected: Any, place: Place, typed: str | None, consent: dict[str, str], exit_code: int, said: str
) -> None:
    """Else nothing is touched; both are told at once."""
    result = protected(typed, **consent)
    assert (result.exit, said in result.said) == (exit_code, True)
    assert bool(place.files()) == (exit_code == 0)


def test_the_audit_has_who_when_why_and_what(place: Place) -> None:
    """Start with code and inputs, each step, each undo, the end; appended, never rewritten."""
    place.execute(second="fail")
    before = (place.runs / "audit.jsonl").read_bytes()
    place.execute(scope="y")
    assert (place.runs / "audit.jsonl").read_bytes().startswith(before)
    first, *_, last = place.audit()
    for key in ("actor", "host", "revision", "digest", "inputs", "reason", "ticket", "targets", "runbook", "stack"):
        assert key in first
    assert (first["actor"], first["reason"], last["event"], last["exit"]) == ("tester", "a test", "end", 0)
    events = [entry["event"] for entry in place.audit()]
    assert events[1:10] == ["step", "outcome"] * 3 + ["undo", "undone", "undo"]


def test_who_cannot_write_the_audit_does_not_act(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk refuses the run before its first step."""
    place.runs.mkdir()
    (place.runs / "audit.jsonl").symlink_to("/dev/full")
    result = place.execute()
    assert (result.exit, place.files()) == (2, [])
    assert "cannot be written" in result.said


def test_an_unknown_run_is_refused(place: Place) -> None:
    """Also the beginning of two."""
    one, two = place.execute().run_id, place.execute(scope="y", folder=place.root).run_id
    assert one[:8] == two[:8]
    with pytest.raises(ConfigError, match="one is allowed"):
        place.undo(one[:8])
    with pytest.raises(ConfigError, match="is not known"):
        place.undo(str(Path("nowhere")))
