"""A drill sees the alerts that its fault makes: each of them, and none that fired before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from infra.errors import CheckError
from runbooks.engine.context import Context
from runbooks.lib import clients
from runbooks.lib.drill import health
from runbooks.lib.drill.claims import Expects, Holds
from runbooks.lib.drill.model import Drill
from runbooks.lib.drill.timeline import Timeline


class Lost(Drill):
    """One fault, two alerts."""

    expects: ClassVar[Expects | None] = Expects(
        "GpuXid", timedelta(seconds=90), "gpu/replace_gpu", "79", labels={"host": "b300-0000"}, also=("GpuLost",)
    )
    during: ClassVar[Holds] = Holds()
    lasts: ClassVar[timedelta] = timedelta(0)


def _seen(monkeypatch: pytest.MonkeyPatch, firing: Mapping[str, Mapping[str, str]]) -> tuple[Lost, Context]:
    """A drill whose fault is in, and a Prometheus that holds these alerts."""

    def until(ask: Callable[[], Any], *, timeout: timedelta, what: str) -> Any:
        assert timedelta(0) <= timeout <= timedelta(seconds=90)
        if (answer := ask()) is None:
            raise CheckError(f"{what} — not so")
        return answer

    def found(name: str, **labels: str) -> list[Any]:
        held = firing.get(name)
        return [SimpleNamespace(labels=held)] if held is not None and labels.items() <= held.items() else []

    fake = SimpleNamespace(
        prometheus=SimpleNamespace(firing=found), plan=SimpleNamespace(target=SimpleNamespace(name="lab"))
    )
    monkeypatch.setattr(clients, "of", lambda ctx: fake)
    monkeypatch.setattr(health, "unhealthy", lambda ctx: iter(()))
    drill = Lost()
    drill.timeline, drill.broken_at = Timeline(), time.time()
    monkeypatch.setattr(drill, "safe", lambda ctx: None)
    return drill, cast("Context", SimpleNamespace(dry=False, until=until, targets=(), stack="lab"))


XID = {"host": "b300-0000", "xid": "79"}


def test_every_alert_of_a_fault_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are stations of the report; the runbook gets the labels of the first."""
    drill, ctx = _seen(monkeypatch, {"GpuXid": XID, "GpuLost": {"host": "b300-0000"}})
    said = drill.be_seen(ctx).said
    assert "GpuXid fired" in said
    assert "GpuLost fired" in said
    assert drill.seen_labels == XID


def test_a_drill_fails_when_a_further_alert_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was shown as passed for an alert that had never fired."""
    drill, ctx = _seen(monkeypatch, {"GpuXid": XID})
    with pytest.raises(CheckError, match="GpuLost firing"):
        drill.be_seen(ctx)


@pytest.mark.parametrize(
    ("firing", "refused"),
    [({}, False), ({"GpuXid": XID}, True), ({"GpuXid": {"host": "another"}}, False), ({"GpuLost": XID}, False)],
    ids=["quiet", "it fires", "elsewhere", "a further one"],
)
def test_an_alert_that_fires_already_says_nothing_of_the_fault(
    monkeypatch: pytest.MonkeyPatch, firing: dict[str, Any], refused: bool
) -> None:
    """The drill is refused, rather than passed after 0 s; of further ones the windows may be longer than a drill."""
    drill, ctx = _seen(monkeypatch, firing)
    assert any("GpuXid fires before the fault" in reason for reason in drill.refusals(ctx)) == refused
