"""A system that is not well is not hurt, and a drill is over only when it is well again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.errors import Unknown
from runbooks.engine.context import Context
from runbooks.lib import clients
from runbooks.lib.drill import health
from runbooks.lib.drill.model import Drill
from runbooks.lib.prometheus import Alert


def _alert(name: str, severity: str = "page", state: str = "firing") -> Alert:
    return Alert(name, state, {"alertname": name, "severity": severity}, {}, datetime(2026, 12, 2, tzinfo=UTC), "1")


WATCHDOG = _alert("Watchdog", "info")


def _host(*, ready: bool = True, cordoned: bool = False) -> Any:
    return SimpleNamespace(name="lab-1", ready=ready, cordoned=cordoned)


def _deployment(*, is_settled: bool = True) -> Any:
    return SimpleNamespace(namespace="models", name="tiny", is_settled=is_settled)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Context]:
    """Makes a system from what is wrong with it."""

    def make(
        alerts: Any = (WATCHDOG,), hosts: Any = None, deployments: Any = None, target: str = "lab", pods: Any = ()
    ) -> Context:
        def asked() -> list[Alert]:
            if isinstance(alerts, Exception):
                raise alerts
            return list(alerts)

        kube = SimpleNamespace(
            hosts=SimpleNamespace(list=lambda: [_host()] if hosts is None else hosts),
            deployments=SimpleNamespace(list=lambda: [_deployment()] if deployments is None else deployments),
            pods=SimpleNamespace(list=lambda: pods),
        )
        model = SimpleNamespace(shutdown=SimpleNamespace(grace=130))
        gateway = SimpleNamespace(grace=140)
        plan = SimpleNamespace(target=SimpleNamespace(name=target), gateway=gateway, models=[model])
        fake = SimpleNamespace(kube=kube, prometheus=SimpleNamespace(alerts=asked), plan=plan)
        monkeypatch.setattr(clients, "of", lambda ctx: fake)
        return cast("Context", SimpleNamespace(stack=target))

    return make


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, []),
        ({"alerts": [WATCHDOG, _alert("HostCpuSaturated", "ticket")]}, []),
        ({"alerts": [WATCHDOG, _alert("ModelDown", state="pending")]}, []),
        ({"alerts": [WATCHDOG, _alert("ModelDown")]}, ["alert ModelDown fires"]),
        ({"alerts": []}, ["alert Watchdog does not fire"]),
        ({"alerts": [WATCHDOG, _alert("ErrorBudgetBurnFast")]}, []),
        ({"alerts": [WATCHDOG, _alert("ErrorBudgetBurnFast")], "target": "metal"}, ["alert ErrorBudgetBurnFast fires"]),
        ({"hosts": [_host(ready=False)]}, ["host 'lab-1' is not ready"]),
        ({"hosts": [_host(cordoned=True)]}, ["host 'lab-1' is cordoned"]),
        ({"deployments": [_deployment(is_settled=False)]}, ["deployment models/tiny is not settled"]),
        (
            {"hosts": [_host(ready=False, cordoned=True)], "alerts": [WATCHDOG, _alert("ModelDown")]},
            ["host 'lab-1' is cordoned", "host 'lab-1' is not ready", "alert ModelDown fires"],
        ),
    ],
)
def test_every_reason_not_to_hurt_is_told(
    system: Callable[..., Context], wrong: dict[str, Any], said: list[str]
) -> None:
    """All at once; tickets and alerts that are only pending do not count."""
    found = list(health.unhealthy(system(**wrong)))
    assert len(found) == len(said)
    assert all(start in one for start, one in zip(said, found, strict=True))


def test_an_unreachable_prometheus_is_no_pass(system: Callable[..., Context]) -> None:
    """Whether a system is well cannot be told then; what could be told is told before."""
    asked = health.unhealthy(system(alerts=Unknown("no answer"), hosts=[_host(ready=False)]))
    assert "not ready" in next(asked)
    with pytest.raises(Unknown):
        list(asked)


@pytest.mark.parametrize(
    ("wrong", "quiet", "well"),
    [
        ({}, True, True),
        ({}, False, None),
        ({"alerts": [_alert("ErrorBudgetBurnFast")], "target": "metal"}, True, True),
        ({"alerts": [_alert("ModelDown")]}, True, None),
        ({"alerts": [_alert("ModelLatencyHigh", state="pending")]}, True, None),
        ({"hosts": [_host(ready=False)]}, True, None),
        ({"hosts": [_host(cordoned=True)]}, True, None),
        ({"deployments": [_deployment(is_settled=False)]}, True, None),
        ({"alerts": Unknown("no answer")}, True, None),
    ],
)
def test_a_system_has_settled_when_all_is_well(
    system: Callable[..., Context], wrong: dict[str, Any], quiet: bool, well: bool | None
) -> None:
    """Hosts, Deployments, pages and the drill's own alert; who cannot be asked is not well yet."""
    assert health.settled(system(**wrong), lambda ctx: quiet) is well


@pytest.mark.parametrize(("leaving", "rests"), [([], True), ([False], True), ([False, True], None)])
def test_a_look_waits_for_pods_that_leave(system: Callable[..., Context], leaving: list[bool], rests: Any) -> None:
    """A pod on its way out would be missed afterwards as if the drill had removed it."""
    assert health.at_rest(system(pods=[SimpleNamespace(deleting=one) for one in leaving])) is rests


def test_a_pod_that_drains_is_not_left_behind(system: Callable[..., Context]) -> None:
    """A gateway that may take 140 s to go was called left behind after 60."""
    assert health.leave_within(system()).total_seconds() == 140 + health.SETTLE_SECONDS


def test_a_fault_of_hosts_is_refused_in_the_lab(system: Callable[..., Context]) -> None:
    """Such a drill says why, beside all other reasons."""

    class Apart(Drill):
        """A fault that the lab cannot have."""

        not_in_lab = "one kernel for all"

    drill = Apart()
    found = list(drill.refusals(system(hosts=[_host(ready=False)])))
    assert any("one kernel for all" in one for one in found)
    assert any("not ready" in one for one in found)
    assert list(drill.refusals(system(target="metal"))) == []
