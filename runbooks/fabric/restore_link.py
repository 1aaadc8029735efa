"""Find which links of the compute fabric are down, flap, err or are paused, and what they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, found, given, measures, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant, names, pool_of
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.cordon import Cordon, Uncordon

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host
    from runbooks.lib.prometheus import Sample

NEEDS = ("nic:up:bool",)
"""Without these series nothing is known of any link."""

SHARE = 0.5
"""Share of a rail's links from which the rail is down. Source: the alert RailDown."""

ILLS: tuple[tuple[str, str, str], ...] = (
    ("nic:link_downs:increase", ">= 2", "went down {value:.0f} times in an hour: cable, transceiver or port"),
    ("nic:symbol_errors:rate", "* 3600 > 120", "has {value:.0f} symbol errors per hour: clean or replace it"),
    ("nic:pfc_pauses:rate", "> 1000", "is paused {value:.0f} times per second: a receiver does not keep up"),
)  # fmt: skip
"""Series, when it is a fault, what is said. Source of the limits: infra/catalog/alerts/fabric.py."""

Links = Mapping[tuple[str, str], Sequence["Sample"]]
"""Links by pool and device: one rail each."""


class RestoreLink(OnHosts, DrainHost, Cordon, Uncordon, Silence):
    """Name links that are down, flap, err or are paused, and say whether a host, a rail or a leaf is to blame.

    Cables and switches are for people; a host whose link is bad is drained meanwhile.
    """

    answers = ("NicDown", "NicFlapping", "NicErrors", "RailDown", "PfcPauseStorm")
    lock = "{stack}"
    risk = "one host leaves the pool; capacity falls by all its GPUs"

    class Inputs(SilenceInputs):
        """Which links."""

        host: str = Field(default="", description="host; left out: all hosts of the leaf, of the pool, or of the stack")
        pool: str = Field(default="", description="pool")
        leaf: str = Field(default="", description="leaf")
        device: str = Field(default="", description="NIC, such as mlx5_2; left out: all of them")
        do: Literal["nothing", "drain_host", "cordon", "uncordon", "silence"] = "nothing"

    def refusals(self, ctx: Context) -> Iterator[str]:
        """There must be a fabric."""
        yield from super().refusals(ctx)
        if not _on_fabric(ctx):
            yield f"hosts {names(host.name for host in meant(ctx))} — are on no fabric by the plan — name one that is"

    @step("which links are down, and what they share", writes=False)
    def links(self, ctx: Context) -> Outcome:
        """Compare the links of whole rails, so that a switch is not taken for a host."""
        rails = _rails(ctx)
        faults = [one for (pool, device), links in rails.items() for one in _rail(ctx, pool, device, links)]
        total = sum(len(links) for links in rails.values())
        return told(faults, f"all {total} links of {len(rails)} rails are up")

    @step("which NICs do not report", writes=False)
    def missing(self, ctx: Context) -> Outcome:
        """Count the NICs of each host against the plan."""
        seen: dict[str, set[str]] = {}
        for links in _rails(ctx).values():
            for one in links:
                seen.setdefault(one.labels["host"], set()).add(one.labels["device"])
        faults = []
        for host in _on_fabric(ctx):
            pool, there = pool_of(ctx, host), seen.get(host.name, set())
            wanted = pool.rdma_devices if pool is not None else 0
            if len(there) < wanted:
                silent = "" if host.ready else "; the host is not ready: see host/recover_host"
                said = f"host {host.name} reports {len(there)} of {wanted} NICs{silent}"
                faults.append(Finding("missing", said, None, ("drain_host", "cordon") if host.ready else (), host.name))
        return told(faults, "every NIC of the plan reports")

    @step("which links are unsteady", writes=False)
    def unsteady(self, ctx: Context) -> Outcome:
        """Read flaps, symbol errors and pauses."""
        faults = [one for row in ILLS for one in _ill(ctx, *row)]
        return told(faults, "no link flaps, errs or is paused")

    def host(self, ctx: Context) -> str:
        """The host that is named, else the only one with a bad link."""
        hosts = {one.about for one in found(ctx, "nic", "unsteady", "missing")}
        return given(ctx).host or (hosts.pop() if len(hosts) == 1 else "")


def _on_fabric(ctx: Context) -> list[Host]:
    return [host for host in meant(ctx) if (pool := pool_of(ctx, host)) is not None and pool.rdma_devices]


def _rails(ctx: Context) -> Links:
    """All links of the pools in question, by rail; a rail is judged by all its hosts, whichever was named."""
    pools = sorted({host.pool for host in _on_fabric(ctx)})
    found: dict[tuple[str, str], list[Sample]] = {}
    for one in clients.of(ctx).prometheus.samples('nic:up:bool{pool=~"$pools"}', needs=NEEDS, pools=pools):
        found.setdefault((one.labels["pool"], one.labels["device"]), []).append(one)
    return found


def _rail(ctx: Context, pool: str, device: str, links: Sequence[Sample]) -> Iterator[Finding]:
    if given(ctx).device not in ("", "missing", device):
        return
    down = sorted(one.labels["host"] for one in links if one.value == 0)
    if len(down) >= 2 and len(down) >= SHARE * len(links):
        leaves = sorted({one.labels.get("leaf", "") for one in links if one.value == 0})
        where = f"leaf {leaves[0]}" if len(leaves) == 1 and leaves[0] else "the switch of the rail"
        said = (
            f"{_nic(device)} is down on {len(down)} of {len(links)} hosts of rail {_number(device)} of pool {pool} "
            f"({names(down)}): look at {where}, not at the hosts"
        )
        since = measures.since(ctx, 'nic:up:bool{pool="$pool", device="$device"} == 0', pool=pool, device=device)
        yield Finding("rail", said, since, (), device)
        return
    wanted = {host.name for host in _on_fabric(ctx)}
    for host in down:
        if host in wanted:
            since = measures.since(ctx, 'nic:up:bool{host="$host", device="$device"} == 0', host=host, device=device)
            said = (
                f"{_nic(device)} of {host} is down, the other {len(links) - 1} links of rail {_number(device)} are up"
            )
            yield Finding("nic", said, since, ("drain_host", "cordon"), host)


def _ill(ctx: Context, metric: str, limit: str, words: str) -> Iterator[Finding]:
    chosen = [host.name for host in _on_fabric(ctx)]
    expression = f'{metric}{{host=~"$hosts"}} {limit}'
    for one in clients.of(ctx).prometheus.samples(expression, needs=NEEDS, hosts=chosen):
        host, device = one.labels["host"], one.labels["device"]
        if given(ctx).device not in ("", device):
            continue
        said = f"{_nic(device)} of {host} {words.format(value=one.value)}"
        since = measures.since(ctx, f'{metric}{{host="$host", device="$device"}} {limit}', host=host, device=device)
        yield Finding("unsteady", said, since, ("drain_host", "cordon"), host)


def _number(device: str) -> str:
    match = re.search(r"(\d+)$", device)
    return match[1] if match else device


def _nic(device: str) -> str:
    return f"NIC {_number(device)} ({device})"
