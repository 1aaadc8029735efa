"""Every alert fires on the series that it is for, and on none of those that look alike."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog.alerts import ALERTS
from infra.config.load import from_file
from infra.plan.build import build
from infra.plan.rules import rules
from infra.plan.rules.expressions import needed
from tests.tools import promtool

HERE = Path(__file__).parent
STACK = HERE / "Pulumi.rules.yaml"
FILES = sorted(path for path in HERE.glob("[A-Z]*.yaml") if path != STACK)


def _groups() -> list[dict[str, Any]]:
    spec = from_file(STACK, HERE)
    assert spec.problems == ()
    assert spec.stack is not None
    return rules(build(spec, spec.stack))


def _write(folder: Path, groups: list[dict[str, Any]], path: Path) -> Path:
    """Write a test next to the rules that its alert builds on; all rules of the stack in each would take minutes."""
    mine = needed(groups, path.stem)
    (folder / f"{path.stem}.rules").write_text(yaml.safe_dump({"groups": mine}))
    test = {
        "rule_files": [f"{path.stem}.rules"],
        "group_eval_order": [group["name"] for group in mine],
        **yaml.safe_load(path.read_text()),
    }
    (folder / path.name).write_text(yaml.safe_dump(test, allow_unicode=True))
    return folder / path.name


def test_every_alert_fires_when_it_must_and_only_then(tmp_path: Path) -> None:
    """Series in, labels and texts out, under promtool."""
    groups = _groups()
    written = [str(_write(tmp_path, groups, path)) for path in FILES]
    # One process runs file after file; two keep both cores of a small machine at work.
    halves = [[promtool(), "test", "rules", *written[part::2]] for part in range(2)]
    running = [subprocess.Popen(half, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for half in halves]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], "\n".join(said)


def test_a_wrong_expectation_is_seen(tmp_path: Path) -> None:
    """promtool passes a file without a single assertion, so one that must fail proves that they are read."""
    groups = _groups()
    path = _write(tmp_path, groups, HERE / "Watchdog.yaml")
    said = yaml.safe_load(path.read_text())
    said["tests"][0]["alert_rule_test"][0]["exp_alerts"] = []
    path.write_text(yaml.safe_dump(said))
    ended = subprocess.run([promtool(), "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_is_tested_both_ways(name: str) -> None:
    """One series at least that it must see, and one that it must not."""
    tests = yaml.safe_load((HERE / f"{name}.yaml").read_text())["tests"]
    fires = [test for test in tests if test["name"].startswith("fires")]
    silent = [test for test in tests if test["name"].startswith("silent")]
    assert len(fires) + len(silent) == len(tests)
    assert fires
    assert silent
    assert all(any(check["exp_alerts"] for check in test["alert_rule_test"]) for test in fires)


def test_no_test_is_of_an_alert_that_is_gone() -> None:
    """A file without its alert would test nothing."""
    assert {path.stem for path in FILES} == set(ALERTS)
