"""Find why a host, or a whole leaf of hosts, is not ready or stays cordoned, and bring it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.errors import Unknown
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, measures, services, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant, names
from runbooks.lib.drain import movable
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.cordon import Cordon, Uncordon
from runbooks.lib.mitigations.start_service import StartService

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

PATIENCE = timedelta(minutes=3)
"""How long a host may take to be ready after its kubelet runs. Source: our choice; kubelet reports at once."""


class RecoverHost(OnHosts, StartService, Uncordon, Cordon, DrainHost, Silence):
    """Bring back hosts that are not ready or cordoned for long, alone or with their whole leaf.

    Kubernetes is asked, and each real host that is at fault itself; Prometheus is not needed.
    """

    answers = ("HostNotReady", "HostCordoned", "LeafDown")
    lock = "{stack}"
    risk = "a kubelet that starts reads its pods anew; those that run go on"
    expect = timedelta(minutes=5)
    deadline = timedelta(minutes=40)

    class Inputs(SilenceInputs):
        """Which hosts."""

        host: str = Field(default="", description="host; left out: all hosts of the leaf, of the pool, or of the stack")
        leaf: str = Field(default="", description="leaf, whose hosts are looked at together")
        pool: str = Field(default="", description="pool")
        do: Literal["nothing", "start_service", "uncordon", "cordon", "drain_host", "silence"] = "nothing"

    @step("which hosts are not ready", writes=False)
    def ready(self, ctx: Context) -> Outcome:
        """Read what Kubernetes says of each, and whether a whole leaf is gone."""
        hosts = meant(ctx)
        found = [*_leaves(ctx, hosts), *(one for host in hosts for one in _host(ctx, host))]
        return told(found, f"ready: {names(host.name for host in hosts)}")

    @step("whether their services run", writes=False)
    def services(self, ctx: Context) -> Outcome:
        """Ask each real host that is not ready, or the one that was named, over ssh."""
        hosts = meant(ctx)
        asked = [host for host in hosts if not host.simulated and (not host.ready or len(hosts) == 1)]
        if not asked:
            return Outcome.ok("no real host is at fault; simulated ones have no services")
        wanted = [service for host in asked for service in services.of_host(ctx, host.name)]
        return told(services.faults(ctx, wanted), f"kubelet and containerd run on {names(host.name for host in asked)}")

    @step("what runs on those at fault", writes=False)
    def burden(self, ctx: Context) -> Outcome:
        """Count their pods, and name the models that have replicas there."""
        hosts = [host for host in meant(ctx) if not host.takes_pods]
        pods = [pod for host in hosts for pod in movable(clients.of(ctx).kube.pods.list(host=host.name))]
        served = {plan.name for plan in clients.of(ctx).plan.models}
        models = sorted({pod.model for pod in pods} & served)
        on = f"of models {', '.join(models)} among them" if models else "of no model among them"
        return Outcome.ok(f"{len(pods)} pods are on hosts at fault, replicas {on}")

    def until_well(self, ctx: Context) -> None:
        """Wait until Kubernetes calls the hosts ready."""
        real = [host.name for host in meant(ctx) if not host.simulated]
        hosts = clients.of(ctx).kube.hosts

        def ready() -> bool:
            return all(hosts.get(name).ready for name in real)

        ctx.until(ready, timeout=PATIENCE, what=f"hosts {names(real)} are ready")


def _host(ctx: Context, host: Host) -> Iterator[Finding]:
    if host.ready:
        return
    ready = host.conditions.get("Ready")
    if ready is None or ready.status == "Unknown":
        said = f"host {host.name} is not ready (NotReady): its kubelet has not reported"
    else:
        said = f"host {host.name} is not ready (NotReady): its kubelet says {ready.reason}: {ready.message}"
    # Its pods cannot be seen off while its kubelet is silent; a cordon keeps others from it until it has proved itself.
    yield Finding("not ready", said, _silent_since(ctx, host), () if host.cordoned else ("cordon",), host.name)


def _leaves(ctx: Context, hosts: Sequence[Host]) -> Iterator[Finding]:
    """Leaves of which every host is gone: they share a cause."""
    for pool, leaf in sorted({(host.pool, host.leaf) for host in hosts if host.leaf and not host.ready}):
        every = clients.of(ctx).kube.hosts.list(pool=pool, leaf=leaf)
        if len(every) < 2 or any(host.ready for host in every):
            continue
        times = [at for host in every if (at := _silent_since(ctx, host)) is not None]
        said = (
            f"all {len(every)} hosts of leaf {leaf} of pool {pool} are not ready: look at the leaf switch and at the "
            f"power of its racks, not at the hosts ({names(host.name for host in every)})"
        )
        yield Finding("leaf", said, min(times, default=None), (), leaf)


def _silent_since(ctx: Context, host: Host) -> datetime | None:
    """Since when it is not ready; a simulated host's Node tells its birth instead, so that Prometheus has to know."""
    ready = host.conditions.get("Ready")
    if ready is not None and ready.since is not None and ready.since > host.created:
        return ready.since
    try:
        return measures.since(ctx, 'host:ready:bool{host="$host"} == 0', host=host.name)
    except Unknown:
        return None
