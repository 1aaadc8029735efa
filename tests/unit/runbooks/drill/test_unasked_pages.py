"""A page that fires during a drill is judged and shown, also when it has resolved before the drill ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from infra.errors import Unknown
from runbooks.engine.context import Context
from runbooks.engine.model import Verdict as Verdicts
from runbooks.lib import clients
from runbooks.lib.drill import pages, report
from runbooks.lib.drill.claims import Expects
from runbooks.lib.drill.model import Drill
from runbooks.lib.drill.timeline import Timeline
from runbooks.lib.prometheus import Series
from runbooks.lib.traffic import Verdict

FAULT, NOW = -90, 0
"""Seconds before the end of the drill."""

EVERY = 5
"""Seconds between two evaluations."""


class Hang(Drill):
    """One alert is due, one more is known to come with it."""

    expects: ClassVar[Expects | None] = Expects("EngineHung", timedelta(seconds=90), "serving/recover_engine", "hung")
    may: ClassVar[Mapping[str, str]] = {"ModelLatencyHigh": "what waited for it comes late"}


def _series(name: str, first: int, last: int, severity: str = "page") -> Series:
    at = range(first, last + 1, EVERY)
    end = datetime.now(UTC)
    labels = {"alertname": name, "alertstate": "firing", "severity": severity, "model": "tiny"}
    return Series(labels, tuple((end + timedelta(seconds=second), 1.0) for second in at))


WATCHED = _series("Watchdog", FAULT - 60, NOW, "info")

Judge = Callable[..., tuple[Drill, list[str]]]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges a drill by what Prometheus has stored."""

    def judge(*stored: Series, forgets: str = "", target: str = "lab") -> tuple[Drill, list[str]]:
        prometheus = SimpleNamespace(stored=lambda selector, within: list(stored))
        plan = SimpleNamespace(target=SimpleNamespace(name=target))
        monkeypatch.setattr(clients, "of", lambda ctx: SimpleNamespace(prometheus=prometheus, plan=plan))
        monkeypatch.setattr(Hang, "forgets", forgets)
        drill: Any = Hang()
        drill.timeline, drill.broken_at = Timeline(), (datetime.now(UTC) + timedelta(seconds=FAULT)).timestamp()
        return drill, list(pages.unasked(cast("Context", None), drill))

    return judge


def test_a_critical_alert_during_the_run_is_exit_0(judged: Judge) -> None:
    """krkn: one that nobody asked for fails the drill and is shown, though it fired for ten seconds only."""
    drill, broken = judged(WATCHED, _series("GatewayDown", FAULT + 20, FAULT + 30))
    assert len(broken) == 1
    assert "GatewayDown tiny" in broken[0]
    assert [(event.kind, event.said) for event in drill.timeline.events] == [("page", "GatewayDown tiny: unasked")]
    assert drill.timeline.events[0].at == pytest.approx(drill.broken_at + 20, abs=2)


@pytest.mark.parametrize(
    ("fired", "shown"),
    [
        (_series("EngineHung", FAULT + 20, NOW), []),
        (_series("ModelLatencyHigh", FAULT + 20, NOW), ["ModelLatencyHigh tiny: what waited for it comes late"]),
        (_series("HostCordoned", FAULT + 20, NOW, "ticket"), []),
        (_series("GatewayDown", FAULT - 50, FAULT - 20), []),
    ],
    ids=["asked for", "may come", "wakes nobody", "before the fault"],
)
def test_pages_that_a_drill_knows_of_do_not_fail_it(judged: Judge, fired: Series, shown: list[str]) -> None:
    """Those that may come are shown with the reason; those that it waits for are stations already."""
    drill, broken = judged(WATCHED, fired)
    assert broken == []
    assert [event.said for event in drill.timeline.events] == shown


@pytest.mark.parametrize(("target", "fails"), [("lab", False), ("kubernetes", True)])
def test_a_budget_that_the_drill_before_has_spent_fails_the_next(judged: Judge, target: str, fails: bool) -> None:
    """Only in the lab do drills follow so closely; elsewhere no drill begins while this page fires."""
    _, broken = judged(WATCHED, _series("ErrorBudgetBurnFast", FAULT + 20, NOW), target=target)
    assert bool(broken) == fails


@pytest.mark.parametrize(
    "watched",
    [
        (),
        (_series("Watchdog", FAULT + 10, NOW, "info"),),
        (_series("Watchdog", FAULT - 60, FAULT + 10, "info"),),
        (_series("Watchdog", FAULT - 60, FAULT, "info"), _series("Watchdog", FAULT + 70, NOW, "info")),
    ],
    ids=["no data", "memory lost", "ended", "a gap"],
)
def test_no_data_of_the_time_of_a_fault_is_no_pass(judged: Judge, watched: tuple[Series, ...]) -> None:
    """It cannot be told who was woken, unless the drill says why; then the report does, and the rest is judged."""
    with pytest.raises(Unknown, match="remembers nothing of"):
        judged(*watched)
    fired = _series("GatewayDown", FAULT + 75, NOW)
    drill, broken = judged(*watched, fired, forgets="its pod moves")
    assert any("its pod moves" in event.said for event in drill.timeline.events)
    assert len(broken) == 1


def test_an_unreachable_prometheus_is_no_pass(judged: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even of a drill that may lose its memory."""
    drill, _ = judged(WATCHED)

    def stored(selector: str, within: timedelta) -> list[Series]:
        raise Unknown("Prometheus — gives no answer — see that it runs")

    monkeypatch.setattr(clients.of(cast("Context", None)).prometheus, "stored", stored)
    monkeypatch.setattr(Hang, "forgets", "its pod moves")
    with pytest.raises(Unknown, match="gives no answer"):
        list(pages.unasked(cast("Context", None), drill))


def test_the_end_of_a_drill_asks_for_its_pages(judged: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step fails by a page alone, when every other claim holds."""
    drill, _ = judged(WATCHED, _series("GatewayDown", FAULT + 20, FAULT + 30))
    written: list[list[str]] = []
    served = SimpleNamespace(window=lambda start, end: SimpleNamespace(counts={Verdict.OK: 9}, ttft=None))
    monkeypatch.setattr(report, "write", lambda ctx, drill, broken: written.append(list(broken)))
    hurt: Any = drill
    hurt.traffic, hurt.healed_at = SimpleNamespace(stop=lambda: served), drill.broken_at + 60
    ctx: Any = SimpleNamespace(dry=False, sleep=lambda seconds: None, until=lambda ask, **limits: True)
    outcome = drill.recover(ctx)
    assert outcome.verdict is Verdicts.FAIL
    assert "page GatewayDown" in outcome.said
    assert written == [[outcome.said]]
