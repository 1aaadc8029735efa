"""Results as JUnit XML, for the pages of a CI system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from runbooks.engine.model import Verdict
from runbooks.engine.result import Exit, Result, StepResult

if TYPE_CHECKING:
    from junitparser import TestCase


def write_junit(path: Path, results: Iterable[Result]) -> None:
    """Write one suite per run and one case per step; what cannot be told is an error, never a pass."""
    from junitparser import JUnitXml, TestSuite

    whole = JUnitXml("runbooks")
    for result in results:
        suite = TestSuite(f"{result.runbook} on {result.stack}")
        suite.add_property("run_id", result.run_id)
        suite.add_property("exit", str(result.exit.value))
        for case in _cases(result):
            suite.add_testcase(case)
        whole.add_testsuite(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.write(str(path), pretty=True)


def _cases(result: Result) -> Iterator[TestCase]:
    for part, steps in (("", result.steps), ("undo of ", result.undone), ("once more: ", result.rechecked)):
        for step in steps:
            yield _case(result, part + step.title, step)
    # The run as a whole, so that one that stopped before its first step counts as well.
    yield _whole(result)


def _case(result: Result, name: str, step: StepResult) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase

    case = TestCase(name, result.runbook, step.seconds)
    kinds = {Verdict.FAIL: Failure, Verdict.UNKNOWN: Error, Verdict.STOP: Skipped}
    if step.verdict in kinds:
        case.result = [kinds[step.verdict](step.said)]
    elif step.would:
        case.system_out = "\n".join(f"would {text}" for text in step.would)
    return case


def _whole(result: Result) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase

    case = TestCase("run", result.runbook, result.seconds)
    kinds = {Exit.UNDONE: Failure, Exit.UNDO_FAILED: Failure, Exit.UNKNOWN: Error, Exit.REFUSED: Skipped}
    if result.exit in kinds:
        case.result = [kinds[result.exit](result.said)]
    return case
