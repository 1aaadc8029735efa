"""Find which part of the control plane or which container runtime is down, and start it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.catalog.targets import LAB_HOSTS
from infra.errors import ConfigError, Unknown
from runbooks.engine.model import Outcome, Target, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Background, Finding, given, measures, services, told
from runbooks.lib.mitigations import Silence, SilenceInputs
from runbooks.lib.mitigations.start_service import StartService

if TYPE_CHECKING:
    from runbooks.engine.context import Context

SEEN: tuple[tuple[str, str], ...] = (
    ('absent(up{job="apiserver"} == 1)', "no API server can be scraped"),
    ('absent(up{job="etcd"} == 1)', "no etcd can be scraped"),
    ("max(etcd_server_has_leader) == 0", "etcd has no leader"),
    ('absent(up{job="coredns"} == 1)', "no DNS server (coredns) can be scraped"),
    ('sum(rate(coredns_dns_responses_total{rcode="SERVFAIL"}[5m])) / sum(rate(coredns_dns_responses_total[5m])) > 0.5',
     "more than half of the answers of DNS (coredns) are SERVFAIL: see whom it asks"),
)  # fmt: skip
"""Expressions that are true of a part that is down, and what is said. Source: infra/catalog/alerts/cluster.py."""

RUNTIME = (
    'sum by (host) (increase(kubelet_runtime_operations_errors_total{operation_type="status"}[2m])) > 0'
    ' and sum by (host) (increase(kubelet_runtime_operations_errors_total{operation_type="status"}[2m]))'
    ' >= 0.9 * sum by (host) (increase(kubelet_runtime_operations_total{operation_type="status"}[2m]))'
)
"""Hosts whose kubelet gets no answer from its container runtime."""


class RestoreControlPlane(Background, StartService, Silence):
    """Find what of API server, etcd, DNS and container runtimes is down, and start it.

    Hosts are asked over ssh, then Prometheus: neither needs the API server, which may be what is down.
    """

    answers = ("ApiServerDown", "EtcdDown", "DnsDown", "ContainerRuntimeDown")
    lock = "{stack}"
    risk = "a part that starts again reads all its state; clients see errors until it has"
    expect = timedelta(minutes=2)

    class Inputs(SilenceInputs):
        """Where to look."""

        host: str = Field(default="", description="host of the control plane, or whose runtime is down; lab: its own")
        do: Literal["nothing", "start_service", "silence"] = "nothing"

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The services, by host and name."""
        return [Target("service", one.name, one.host) for one in _services(ctx)]

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Without the API server nobody tells which hosts the control plane is on."""
        yield from super().refusals(ctx)
        if not _services(ctx):
            yield "control plane — the plan does not say which hosts it is on — name one of them with --host"

    @step("whether the API server answers", writes=False)
    def api(self, ctx: Context) -> Outcome:
        """Ask it whether it is ready, and which of its checks fails."""
        try:
            clients.of(ctx).kube.call("/readyz")
        except (Unknown, ConfigError) as error:
            since = measures.since(ctx, SEEN[0][0])
            said = f"the API server (kube-apiserver) is down: {_short(error)}"
            return told([Finding("api", said, since, (), "kube-apiserver")], "")
        return Outcome.ok("the API server answers and is ready")

    @step("which services do not run", writes=False)
    def parts(self, ctx: Context) -> Outcome:
        """Ask the hosts' own service managers."""
        every = _services(ctx)
        faults = services.faults(ctx, every)
        silent = {one.about for one in faults if one.fault == "unreachable"}
        asked = [service for service in every if service.host not in silent]
        return told(faults, f"all services run: {', '.join(service.name for service in asked)}")

    @step("what Prometheus sees", writes=False)
    def seen(self, ctx: Context) -> Outcome:
        """Look at scrapes, at etcd's leader, DNS answers and what kubelets say of their runtimes."""
        prometheus, faults = clients.of(ctx).prometheus, []
        try:
            for expression, said in SEEN:
                if prometheus.samples(expression, needs=("up",)):
                    faults.append(Finding("seen", said, measures.since(ctx, expression)))
            for one in prometheus.samples(RUNTIME, needs=("up",)):
                host = one.labels.get("host", "?")
                said = f"the container runtime (containerd) of host {host} does not answer its kubelet"
                faults.append(Finding("runtime", said, None, (), host))
        except Unknown as error:
            if not _is_known(ctx):
                raise
            return Outcome.ok(f"Prometheus cannot be asked: {_short(error)}")
        return told(faults, "API server, etcd and DNS are scraped, etcd has a leader, every runtime answers")

    @step("what differs from the plan", writes=False)
    def what_differs(self, ctx: Context) -> Outcome:
        """Compare as far as the API server can be asked."""
        try:
            return super().what_differs(ctx)
        except Unknown:
            return Outcome.ok("not known while the API server does not answer")

    def until_well(self, ctx: Context) -> None:
        """Wait until the API server is ready again."""
        api = clients.of(ctx).kube

        def ready() -> bool:
            try:
                api.call("/readyz")
            except (Unknown, ConfigError):
                return False
            return True

        ctx.until(ready, timeout=timedelta(minutes=3), what="the API server is ready")


def _services(ctx: Context) -> list[services.Service]:
    """The control plane's services first, as others need them, then those of the host in question."""
    named = given(ctx).host
    home = LAB_HOSTS[0] if services.in_lab(ctx) else named
    if not home:
        return []
    parts = services.CONTROL_PLANE if services.in_lab(ctx) else ()
    every = [services.named(ctx, home, what) for what in parts] + services.of_host(ctx, home)
    if services.in_lab(ctx):
        others = LAB_HOSTS[: sum(pool.pool.hosts for pool in clients.of(ctx).plan.pools if not pool.simulated)]
        every += [one for host in others if host != home for one in services.of_host(ctx, host)]
    return every


def _is_known(ctx: Context) -> bool:
    """Whether another step told anything: an API server that answers, or hosts that do."""
    said = [one for facts in ctx.facts.values() for one in facts.get("findings", ())]
    return not any(one["fault"] == "unreachable" for one in said)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
