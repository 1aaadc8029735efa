"""All clients of one run, each made when it is first used, so that a run costs nothing to begin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from runbooks.lib.stack import Stack

if TYPE_CHECKING:
    from infra.plan.facts import Plan
    from runbooks.engine.context import Context
    from runbooks.lib.alertmanager import Alertmanager
    from runbooks.lib.gateway import Gateway
    from runbooks.lib.history import History
    from runbooks.lib.hosts import Hosts
    from runbooks.lib.kubernetes import Kubernetes
    from runbooks.lib.prometheus import Prometheus
    from runbooks.lib.signals import Signals


def connect(ctx: Context) -> Clients:
    """Make the clients of a run."""
    return Clients(ctx)


def of(ctx: Context) -> Clients:
    """The clients of a run, with their types."""
    return cast("Clients", ctx.clients)


@dataclass
class Clients:
    """What a run acts through."""

    ctx: Context

    @cached_property
    def stack(self) -> Stack:
        """The stack of the run."""
        return Stack(self.ctx.stack)

    @property
    def plan(self) -> Plan:
        """What the stack comes down to."""
        return self.stack.plan

    @cached_property
    def kube(self) -> Kubernetes:
        """The cluster."""
        from runbooks.lib.kubernetes import Kubernetes
        from runbooks.lib.kubernetes.api import Api

        return Kubernetes(self.ctx, Api(lambda: self.stack.kubeconfig))

    @cached_property
    def prometheus(self) -> Prometheus:
        """Metrics and alerts."""
        from runbooks.lib.endpoint import Endpoint
        from runbooks.lib.prometheus import Prometheus

        where = self.stack.monitoring("prometheus")
        return Prometheus(Endpoint("Prometheus", where.url, self.kube.api, where.service))

    @cached_property
    def alertmanager(self) -> Alertmanager:
        """Notices and silences."""
        from runbooks.lib.alertmanager import Alertmanager
        from runbooks.lib.endpoint import Endpoint

        where = self.stack.monitoring("alertmanager")
        return Alertmanager(self.ctx, Endpoint("Alertmanager", where.url, self.kube.api, where.service))

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway."""
        from runbooks.lib.gateway import Gateway

        return Gateway(self.stack, self.kube)

    @cached_property
    def hosts(self) -> Hosts:
        """The hosts from inside."""
        from runbooks.lib.hosts import Hosts

        return Hosts(self.ctx, self.stack)

    @cached_property
    def signals(self) -> Signals:
        """Faults of simulated hosts."""
        from runbooks.lib.signals import Signals

        return Signals(self.kube.hosts)

    @cached_property
    def history(self) -> History:
        """What Pulumi did to the stack before."""
        from runbooks.lib.history import History

        return History(self.stack)
