"""Stop Prometheus: Alertmanager hears nothing of its Watchdog any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from infra.errors import ConfigError, Unknown
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

NAMESPACE, NAME = "monitoring", "prometheus"
KIND = ("monitoring.coreos.com/v1", "Prometheus", NAMESPACE, NAME)


class StopPrometheus(Drill):
    """Stop Prometheus: Alertmanager hears nothing of its Watchdog any more.

    This alert is told by its absence, and by Alertmanager, as Prometheus cannot tell it: Watchdog ends there when it
    was not sent again for four times a minute. What serves goes on serving; what was measured before may be lost.
    """

    expects: ClassVar[Expects | None] = Expects(
        "Watchdog", timedelta(minutes=5), "monitoring/restore_data", "[Pp]rometheus.*(answer|reach|ready|replica|down)"
    )
    forgets: ClassVar[str] = "it is Prometheus that is stopped"
    needs_lab: ClassVar[bool] = True
    deadline: ClassVar[timedelta] = timedelta(minutes=15)
    recovers_within: ClassVar[timedelta] = timedelta(minutes=5)

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The Prometheus that the stack has made."""
        if clients.of(ctx).kube.get(*KIND) is None:
            raise ConfigError("Prometheus — is not of this stack's making — drill the one that is used where it runs")
        yield Target("prometheus", NAME, NAMESPACE)

    def fault(self, ctx: Context) -> str:
        """What stops."""
        return f"{ctx.targets[0]} has no replica"

    def inject(self, ctx: Context) -> Outcome:
        """Ask its operator for none."""
        found = clients.of(ctx).kube.get(*KIND) or {}
        ctx.record(replicas=found["spec"].get("replicas"))
        _scale(ctx, 0)
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Ask for as many as before."""
        if told := ctx.facts.get("break_it", {}):
            _scale(ctx, told["replicas"])
        return Outcome.ok("Prometheus starts again")

    def fired(self, ctx: Context, expects: Expects) -> Mapping[str, str] | None:
        """Labels to go on with once Alertmanager holds no Watchdog any more."""
        self.safe(ctx)
        held = {alert.name for alert in clients.of(ctx).alertmanager.alerts()}
        return None if expects.alert in held else {"alertname": expects.alert}

    def is_quiet(self, ctx: Context) -> bool:
        """Whether Watchdog is heard again."""
        c = clients.of(ctx)
        return bool(c.prometheus.firing("Watchdog")) and any(
            alert.name == "Watchdog" for alert in c.alertmanager.alerts()
        )


def _scale(ctx: Context, replicas: Any) -> None:
    kube = clients.of(ctx).kube
    kube.patch(*KIND, {"spec": {"replicas": replicas}})
    found = kube.get(*KIND)
    if not ctx.dry and (found is None or found["spec"].get("replicas") != replicas):
        raise Unknown(f"prometheus {NAMESPACE}/{NAME} — was asked for {replicas} replicas, and has others")
