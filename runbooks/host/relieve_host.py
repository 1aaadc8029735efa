"""Find what a host is short of, memory, CPU or a clean network, and who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.host import _usage
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, measures, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.cordon import Cordon

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FREE, STALLED = 0.05, 0.1
"""Memory left, and time stalled for want of it, from which a host is short (ratios). Source: alert HostMemoryLow."""

BUSY = 0.95
"""Use of CPUs from which a host is saturated. Source: the alert HostCpuSaturated."""

BAD, AGAIN = 0.001, 0.05
"""Share of packets that are bad, and of TCP segments sent again. Source: the alert HostNetworkErrors."""

_COUNTS = ("receive_errs", "transmit_errs", "receive_drop", "transmit_drop")
_BAD = " + ".join(f'rate(node_network_{count}_total{{host="$host"}}[5m])' for count in _COUNTS)

DEVICE = f"topk(3, sum by (device) ({_BAD}) > 0)"
"""Interfaces that lose packets."""


class RelieveHost(OnHosts, DrainHost, Cordon, Silence):
    """Find what a host is short of: memory, CPU, or a network that loses packets; and name who uses it."""

    answers = ("HostMemoryLow", "HostCpuSaturated", "HostNetworkErrors")
    lock = "{stack}/host/{host}"
    risk = "a drain takes room on the other hosts"

    class Inputs(SilenceInputs):
        """Which host."""

        host: str = Field(description="host")
        do: Literal["nothing", "drain_host", "cordon", "silence"] = "nothing"

    @step("how much memory is left, and who holds it", writes=False)
    def memory(self, ctx: Context) -> Outcome:
        """Read use, stalls and pressure; name the largest pods and programs."""
        host, prometheus = given(ctx).host, clients.of(ctx).prometheus
        used = prometheus.value('host:memory_used:ratio{host="$host"}', unit="memory in use", host=host)
        stalled = measures.optional(ctx, 'host:memory_stalled:ratio{host="$host"}', host=host) or 0.0
        condition = meant(ctx)[0].conditions.get("MemoryPressure")
        pressed = condition is not None and condition.status == "True"
        state = f"host {host} has {1 - used:.0%} of its memory left and stands still for it {stalled:.0%} of the time"
        if used <= 1 - FREE and stalled <= STALLED and not pressed:
            return told([], state)
        since = measures.since(ctx, 'host:memory_used:ratio{host="$host"} > $most', host=host, most=1 - FREE)
        if pressed:
            state += "; its kubelet evicts pods (MemoryPressure)"
        found = [
            Finding("memory", f"{state}; largest: {self._users(ctx, 'rss')}", since, ("drain_host", "cordon"), host)
        ]
        return told(found, "")

    @step("how busy its CPUs are, and with what", writes=False)
    def cpu(self, ctx: Context) -> Outcome:
        """Read their use; name the busiest pods and programs."""
        host = given(ctx).host
        used = clients.of(ctx).prometheus.value('host:cpu_used:ratio{host="$host"}', unit="CPUs in use", host=host)
        said = f"the CPUs of host {host} are {used:.0%} busy"
        if used <= BUSY:
            return told([], said)
        since = measures.since(ctx, 'host:cpu_used:ratio{host="$host"} > $most', host=host, most=BUSY)
        found = [Finding("cpu", f"{said}; busiest: {self._users(ctx, 'pcpu')}", since, ("drain_host", "cordon"), host)]
        return told(found, "")

    @step("whether its network loses packets", writes=False)
    def network(self, ctx: Context) -> Outcome:
        """Read bad packets and repeated segments; name the interfaces."""
        host = given(ctx).host
        bad = measures.optional(ctx, 'host:network_bad_packets:ratio{host="$host"}', host=host) or 0.0
        again = clients.of(ctx).prometheus.value(
            'host:tcp_retransmits:ratio{host="$host"}', unit="sent again", host=host
        )
        said = f"{bad:.2%} of its packets are bad or dropped, {again:.2%} of its TCP segments are sent again"
        if bad <= BAD and again <= AGAIN:
            return told([], f"host {host}: {said}")
        since = measures.since(ctx, 'host:tcp_retransmits:ratio{host="$host"} > $most', host=host, most=AGAIN)
        devices = clients.of(ctx).prometheus.samples(DEVICE, needs=("up",), host=host)
        worst = ", ".join(f"{one.labels['device']} {one.value:.1f}/s" for one in devices)
        where = worst or "no interface counts errors: packets are lost on the way, or by a filter"
        found = [
            Finding("network", f"host {host} loses packets: {said} ({where})", since, ("drain_host", "cordon"), host)
        ]
        return told([*found, *self._filters(ctx)], "")

    def _users(self, ctx: Context, by: str) -> str:
        host = meant(ctx)[0]
        pods = _usage.pods_by_memory(ctx, host.name) if by == "rss" else _usage.pods_by_cpu(ctx, host.name)
        beside = [] if host.simulated else _usage.programs(ctx, host.name, by)
        return "; ".join([*pods, *beside]) or "nobody stands out"

    def _filters(self, ctx: Context) -> list[Finding]:
        """Rules of the host's own firewall that drop packets: a partition that somebody made."""
        host = meant(ctx)[0]
        if host.simulated:
            return []
        done = clients.of(ctx).hosts.ask(host.name, ["nft", "list", "ruleset"])
        drops = [line.strip() for line in done.stdout.splitlines() if " drop" in line and "policy" not in line]
        return (
            [Finding("filter", f"a rule of host {host.name} drops packets: {drops[0]}", None, (), host.name)]
            if drops
            else []
        )
