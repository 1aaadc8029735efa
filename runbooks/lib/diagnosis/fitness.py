"""Is a host fit to serve: what must be well before pods come back to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from infra.catalog.xids import SERIOUS
from runbooks.lib import clients
from runbooks.lib.diagnosis import services
from runbooks.lib.diagnosis.hosts import GPU, pool_of

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
"""Conditions of a Node that must not be true. Source: kubernetes.io, Node status."""


def unfit(ctx: Context, host: Host) -> Iterator[str]:
    """Yield every reason for which a host should take no pods.

    Raises:
        Unknown: its GPUs or NICs give no data; what cannot be seen is not called well.
    """
    yield from _told(host)
    if not host.simulated:
        for fault in services.faults(ctx, services.of_host(ctx, host.name)):
            yield f"{fault.said} — start it first"
    pool = pool_of(ctx, host)
    if pool is not None and pool.board.gpus:
        yield from _gpus(ctx, host, pool.board.gpus)
    if pool is not None and pool.rdma_devices:
        yield from _nics(ctx, host, pool.rdma_devices)


def _told(host: Host) -> Iterator[str]:
    """What Kubernetes says against it."""
    if not host.ready:
        yield f"host {host.name} — is not ready — run host/recover_host first"
    for name in PRESSURES:
        condition = host.conditions.get(name)
        if condition is not None and condition.status == "True":
            yield f"host {host.name} — has {name} ({condition.message}) — relieve it first"


def _gpus(ctx: Context, host: Host, wanted: int) -> Iterator[str]:
    prometheus, name = clients.of(ctx).prometheus, host.name
    needs = ("gpu:temperature_celsius",)
    seen = prometheus.samples('gpu:temperature_celsius{host="$host"}', needs=needs, host=name)
    if len(seen) < wanted or host.allocatable.get(GPU, 0.0) < wanted:
        offers = host.allocatable.get(GPU, 0.0)
        yield f"host {name} — {len(seen)} GPUs report, {offers:g} are offered — want {wanted} — see gpu/replace_gpu"
    recent = prometheus.samples('gpu:xid_recent:count{host="$host"}', needs=needs, host=name)
    for one in recent:
        if int(one.labels.get("xid", 0)) in SERIOUS:
            gpu, code = one.labels.get("gpu"), one.labels["xid"]
            yield f"GPU {gpu} of host {name} — had Xid {code} a moment ago — see gpu/replace_gpu"


def _nics(ctx: Context, host: Host, wanted: int) -> Iterator[str]:
    up = clients.of(ctx).prometheus.samples('nic:up:bool{host="$host"} == 1', needs=("nic:up:bool",), host=host.name)
    if len(up) < wanted:
        yield f"host {host.name} — {len(up)} NICs are up — {wanted} are wanted — see fabric/restore_link"
