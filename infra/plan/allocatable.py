"""What hosts give out: not what was deployed, but what a pod could have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.plan.facts import PoolPlan
from infra.plan.labels import POOL_LABEL

MOST_SECONDS = 24 * 60 * 60
"""Longest deadline (seconds); who changes more hosts than that takes pools one by one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What hosts of one pool must give out."""

    pool: str
    hosts: int
    """Hosts that must give it: all but the spare ones (count)."""
    resource: str
    amount: int
    """Of each host (count)."""


def wanted_of(pool: PoolPlan, resource: str, amount: int) -> Wanted:
    """A resource of every host of a pool but the spare ones, which may be broken."""
    return Wanted(pool.name, pool.pool.hosts - pool.pool.spare_hosts, resource, amount)


def lacking(nodes: Iterable[Mapping[str, Any]], wanted: Iterable[Wanted]) -> Iterator[str]:
    """Yield each resource that fewer hosts of its pool than wanted give out whole."""
    hosts: dict[str, list[Mapping[str, Any]]] = {}
    for node in nodes:
        pool = node["metadata"].get("labels", {}).get(POOL_LABEL, "")
        hosts.setdefault(pool, []).append(node.get("status", {}).get("allocatable", {}))
    for want in wanted:
        whole = sum(int(given.get(want.resource, 0)) >= want.amount for given in hosts.get(want.pool, ()))
        if whole < want.hosts:
            yield f"pool {want.pool!r}: {whole} of {want.hosts} hosts give out their {want.amount} {want.resource}"


def stuck(pods: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each pod that is neither ready nor done, with its host and the reason that its kubelet gives."""
    for pod in pods:
        status, meta = pod.get("status", {}), pod["metadata"]
        ready = any(item["type"] == "Ready" and item["status"] == "True" for item in status.get("conditions") or ())
        if ready or status.get("phase") == "Succeeded":
            continue
        where = pod.get("spec", {}).get("nodeName") or "no host"
        yield f"{meta['namespace']}/{meta['name']} on {where}: {_reason(status)}"


def _reason(status: Mapping[str, Any]) -> str:
    """The first container's that says one, before the scheduler's, before the phase."""
    states = [
        state
        for key in ("initContainerStatuses", "containerStatuses")
        for container in status.get(key) or ()
        for state in (container.get("state") or {}).values()
    ]
    said = [state["reason"] for state in states if state.get("reason") not in (None, "Completed", "PodInitializing")]
    said += [item["message"] for item in status.get("conditions") or () if item.get("reason") == "Unschedulable"]
    return str(said[0] if said else status.get("phase", "Pending"))
