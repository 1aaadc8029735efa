"""Alerts can fire: their metrics exist, their limits lie on edges, their runbooks and drills are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog import recordings
from infra.catalog.alerts import ALERTS, RULES
from infra.catalog.alerts.alert import Alert
from infra.catalog.dcgm import COUNTERS
from infra.catalog.metrics import METRICS, SERIES
from infra.catalog.metrics.dcgm import DCGM, RENAMED
from infra.catalog.metrics.envoy import GATEWAY_EDGES_MS
from infra.catalog.settings import SETTINGS
from infra.config.load import clone_root, from_file
from infra.plan.build import build
from infra.plan.envoy.stats import EDGES_MS
from infra.plan.facts import Plan
from infra.plan.rules import rules
from infra.plan.rules.expressions import labels
from infra.plan.rules.lint import lint
from tests.tools import promtool

REPO = clone_root()
STACKS = [*sorted((REPO / "stacks").glob("Pulumi.*.yaml")), REPO / "tests/rules/Pulumi.rules.yaml"]
TARGET_LABELS = {"job", "instance", "namespace", "pod", "host", "pool", "leaf", "model"}
"""What relabelling puts on targets. Source: infra/plan/manifests/observability."""
OTHERS_TELL = {"PrometheusTargetDown", "RailDown", "LeafDown", "ContainerRuntimeDown"}
"""Alerts on what is there and bad; MetricsAbsent tells when it is not there."""
OURS = {"slo", "metrics", "setting", "kind", "alertname"}
"""Labels that our own rules write."""

each_rule = pytest.mark.parametrize("row", RULES, ids=lambda row: "-".join([row.name, *row.labels.values()]))


def _plan(path: Path) -> Plan:
    spec = from_file(path)
    assert spec.stack is not None
    return build(spec, spec.stack)


def _rendered() -> list[dict[str, Any]]:
    return rules(_plan(REPO / "tests/rules/Pulumi.rules.yaml"))


@each_rule
def test_a_rule_says_where_its_limit_comes_from(row: Alert) -> None:
    """A number without a source cannot be judged by whoever it wakes."""
    assert len(row.source) >= 15
    assert len(re.sub(r"{{.*?}}", "", row.summary)) <= 100
    assert re.search(r"[.}]$", row.description)


@each_rule
def test_a_rule_has_a_drill_or_says_why_not(row: Alert) -> None:
    """Exactly one of the two, and who needs hardware has none."""
    assert bool(row.drill) != bool(row.no_drill)
    assert not (row.hardware and row.drill)


@pytest.mark.parametrize("drill", sorted({row.drill for row in RULES if row.drill}))
def test_every_drill_is_there(drill: str) -> None:
    """The command ``drills/<fault>`` exists."""
    assert (REPO / "runbooks/drills" / f"{drill}.py").is_file()


@pytest.mark.parametrize("command", sorted({row.runbook for row in RULES}))
def test_every_runbook_is_there_and_answers(command: str) -> None:
    """The command exists and names the alerts that lead to it."""
    path = REPO / "runbooks" / f"{command}.py"
    assert path.is_file()
    missing = {row.name for row in RULES if row.runbook == command and row.name not in path.read_text()}
    assert missing == set()


@each_rule
def test_rules_of_one_alert_agree(row: Alert) -> None:
    """Whoever looks an alert up by name finds one severity, one level, one runbook."""
    first = ALERTS[row.name]
    assert (row.severity, row.level, row.runbook, row.drill) == (
        first.severity,
        first.level,
        first.runbook,
        first.drill,
    )


@each_rule
def test_what_goes_down_is_also_missed_when_it_is_gone(row: Alert) -> None:
    """A target that is gone has no series that could be zero."""
    if re.fullmatch(r"\w*(Down|Lost|Absent)", row.name) and row.name not in OTHERS_TELL:
        assert re.search(r"absent\(|missing:count|plan:", row.expr)


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_our_own_rules_have_no_fault_that_we_know(path: Path) -> None:
    """Unknown metrics, rates of gauges, limits between edges, budgets without a factor."""
    assert list(lint(rules(_plan(path)))) == []


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_promtool_finds_nothing(path: Path, tmp_path: Path) -> None:
    """Syntax, and duplicates of every kind."""
    groups = rules(_plan(path))
    if not groups:
        pytest.skip("nothing watches this stack")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    command = [promtool(), "check", "rules", "--lint=all", "--lint-fatal", str(tmp_path / "rules.yaml")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_label_in_an_expression_exists() -> None:
    """A misspelt label groups everything into one, or matches nothing."""
    known = {label for row in METRICS.values() for label in row.labels} | TARGET_LABELS | OURS
    used = {label for group in _rendered() for rule in group["rules"] for label in labels(rule["expr"])}
    assert used - known == set()


def test_every_recording_says_its_level_first() -> None:
    """Names are ``level:metric`` or ``level:metric:operation``, each once."""
    names = [row.name for rows in recordings.GROUPS.values() for row in rows]
    assert len(names) == len(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z]+:[a-z0-9_]+(:[a-z0-9_]+)?", name)] == []


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.name)
def test_every_metric_has_a_source(row: Any) -> None:
    """And histograms have their edges, in order."""
    assert len(row.source) >= 20
    assert bool(row.edges) == (row.kind == "histogram")
    assert list(row.edges) == sorted(set(row.edges))


def test_a_counter_of_a_library_ends_in_total() -> None:
    """Envoy and DCGM's window counts are the known exceptions; everywhere else a missing suffix is a misspelling."""
    odd = {row.name for row in METRICS.values() if row.kind == "counter" and not row.name.endswith("_total")}
    assert {name for name in odd if not name.startswith("envoy_") and not name.endswith("_TOTAL")} == set()


def test_the_gateway_counts_by_the_edges_that_rules_know() -> None:
    """A limit is compared with an edge, so both must mean the same."""
    assert GATEWAY_EDGES_MS == EDGES_MS


def test_the_gpu_exporter_is_told_every_field_that_rules_read() -> None:
    """One that is not in its list does not exist, and its alert is silent for ever."""
    told = {counter.field for counter in COUNTERS}
    told |= {RENAMED.get(name, name) for name in told}
    assert {row.name for row in DCGM} - told == set()


def test_every_setting_is_a_metric() -> None:
    """node_exporter names a sysctl after its key."""
    assert {row.metric for row in SETTINGS} <= SERIES.keys()
