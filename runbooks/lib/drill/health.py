"""Whether a system is well enough to be hurt, and whether it is well again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.lib import clients
from runbooks.lib.drill.claims import FAILURES, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.prometheus import Alert
    from runbooks.lib.traffic import Figures

BASELINE_SECONDS = 8.0
"""How long the steady state is watched before the fault and after recovery (s)."""

SETTLE_SECONDS = 60.0
"""How long mounts and interfaces of pods that have ended may stay until they count as left behind (s)."""

PAST = ("ErrorBudgetBurnFast",)
"""Pages about what was, not about what is. They do not keep a system from being well again; elsewhere than in the lab
they forbid a drill, as there is no budget left to spend on it. In the lab the drill before has spent it."""

PATIENCE = 10
"""How many requests may fail beyond what a drill allows before it is broken off (count)."""


def unhealthy(ctx: Context) -> Iterator[str]:
    """Every reason not to hurt this system now: alerts, cordoned or lost hosts, rollouts under way.

    Raises:
        Unknown: Prometheus cannot be asked, so that no claim could be judged.
    """
    kube = clients.of(ctx).kube
    for host in kube.hosts.list():
        if host.cordoned:
            yield f"host {host.name!r} is cordoned; finish what was begun there first"
        if not host.ready:
            yield f"host {host.name!r} is not ready; run host/recover_host first"
    for deployment in kube.deployments.list():
        if not deployment.is_settled:
            yield f"deployment {deployment.namespace}/{deployment.name} is not settled; wait until its rollout ends"
    yield from _alarms(ctx)


def _alarms(ctx: Context) -> Iterator[str]:
    firing = [alert for alert in clients.of(ctx).prometheus.alerts() if alert.state == "firing"]
    in_lab = clients.of(ctx).plan.target.name == "lab"
    for alert in pages(firing):
        if not (in_lab and alert.name in PAST):
            yield f"alert {alert.name} fires since {alert.since:%H:%M:%S} UTC; run its runbook first"
    if not any(alert.name == "Watchdog" for alert in firing):
        yield "alert Watchdog does not fire, so nothing would be seen; run monitoring/restore_data first"


def pages(alerts: Iterable[Alert], states: Collection[str] = ("firing",)) -> list[Alert]:
    """Those that would wake someone."""
    return [alert for alert in alerts if alert.state in states and alert.labels.get("severity") == "page"]


def at_rest(ctx: Context) -> bool | None:
    """True once no pod is on its way out; None before."""
    return None if any(pod.deleting for pod in clients.of(ctx).kube.pods.list()) else True


def leave_within(ctx: Context) -> timedelta:
    """How long a pod on its way out may take to be gone with all it had: the longest planned grace, and some more."""
    plan = clients.of(ctx).plan
    grace = max([plan.gateway.grace, *(model.shutdown.grace for model in plan.models)])
    return timedelta(seconds=grace + SETTLE_SECONDS)


def settled(ctx: Context, is_quiet: Callable[[Context], bool]) -> bool | None:
    """True once all is ready and the expected alert is quiet again; None as long as it is not, or cannot be told."""
    c = clients.of(ctx)
    try:
        if any(not host.ready or host.cordoned for host in c.kube.hosts.list()):
            return None
        if any(not deployment.is_settled for deployment in c.kube.deployments.list()):
            return None
        if not is_quiet(ctx):
            return None
        # One that is pending fires as soon as its hold is over, in the middle of what comes next.
        paging = [alert for alert in pages(c.prometheus.alerts(), ("firing", "pending")) if alert.name not in PAST]
    except (Unknown, ConfigError):
        # While a system comes back, parts of it do not answer; the deadline of the step tells when that is too long.
        return None
    return None if paging else True


def abort_if(allowed: Holds, figures: Figures) -> None:
    """Break a drill off when clients suffer much more than it claims.

    Raises:
        CheckError: more than ``PATIENCE`` requests beyond the claim failed.
    """
    if beyond := list(allowed.beyond(figures, FAILURES, patience=PATIENCE)):
        raise CheckError(f"abort rule — {'; '.join(beyond)} — the fault is undone")
