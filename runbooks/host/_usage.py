"""Who uses a host: its pods by what they hold, and its programs as the host itself counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context

SHOWN = 3
"""Users that are named (count)."""

MIB = 2**20


def pods_by_memory(ctx: Context, host: str) -> list[str]:
    """Pods that hold most memory, as cadvisor counts them; none where nothing is scraped."""
    expression = (
        'topk($most, sum by (namespace, pod) (container_memory_working_set_bytes{host="$host", container!=""}))'
    )
    found = clients.of(ctx).prometheus.samples(expression, needs=("up",), host=host, most=SHOWN)
    ordered = sorted(found, key=lambda one: one.value, reverse=True)
    return [f"pod {one.labels['namespace']}/{one.labels['pod']} {one.value / MIB:.0f} MiB" for one in ordered]


def pods_by_cpu(ctx: Context, host: str) -> list[str]:
    """Pods that use most CPU."""
    used = 'rate(container_cpu_usage_seconds_total{host="$host", container!=""}[5m])'
    expression = f"topk($most, sum by (namespace, pod) ({used}))"
    found = clients.of(ctx).prometheus.samples(expression, needs=("up",), host=host, most=SHOWN)
    ordered = sorted(found, key=lambda one: one.value, reverse=True)
    return [f"pod {one.labels['namespace']}/{one.labels['pod']} {one.value:.2f} CPUs" for one in ordered]


def programs(ctx: Context, host: str, by: str) -> list[str]:
    """Programs that use most, pods and everything beside them.

    Args:
        by: ``rss`` for memory, ``pcpu`` for CPU.
    Raises:
        Unknown: the host does not answer.
    """
    done = clients.of(ctx).hosts.ask(host, ["ps", "-eo", f"pid=,{by}=,comm=", f"--sort=-{by}"])
    result = []
    for line in done.stdout.splitlines()[:SHOWN]:
        pid, amount, name = line.split(None, 2)
        used = f"{int(amount) // 1024} MiB" if by == "rss" else f"{amount} % of a CPU"
        result.append(f"{name} (process {pid}) {used}")
    return result
