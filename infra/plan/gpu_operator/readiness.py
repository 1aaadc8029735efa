"""When GPUs are there: not when a chart is deployed, but when every host gives out what its board has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from infra.plan.facts import Plan
from infra.plan.gpu_operator.objects import DIGEST
from infra.plan.gpu_operator.values import operated
from infra.plan.labels import POOL_LABEL

LEAST_SECONDS = 45 * 60
"""Shortest deadline (seconds): images of gigabytes, then a driver that is compiled for 20 minutes, twice."""

HOST_SECONDS = 20 * 60
"""One host from its old driver to its new one (seconds), beside the wait for its pods. Source: values.yaml of v26.7.0,
driver.startupProbe: a minute and 120 tries of ten seconds."""

MOST_SECONDS = 24 * 60 * 60
"""Longest deadline (seconds); who changes more hosts than that takes pools one by one."""

GPU = "nvidia.com/gpu"
"""Extended resource of a GPU."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one pool must give out."""

    pool: str
    hosts: int
    """Hosts that must give it: all but the spare ones (count)."""
    gpus: int
    """GPUs of each (count)."""


def wanted(plan: Plan) -> tuple[Wanted, ...]:
    """What must be there of each pool whose GPUs go through the device plugin and stay whole."""
    if plan.gpu_operator.config.dra or plan.ownership.device_plugin != "operator":
        return ()
    return tuple(
        Wanted(pool.name, pool.pool.hosts - pool.pool.spare_hosts, pool.board.gpus)
        for pool in operated(plan)
        if pool.pool.gpu_operator.mig == "all-disabled"
    )


def deadline(plan: Plan, hosts: int, pod_seconds: int) -> int:
    """How long a change of so many hosts may take (seconds)."""
    rounds = ceil(hosts / plan.gpu_operator.config.upgrade.parallel)
    return min(MOST_SECONDS, max(LEAST_SECONDS, rounds * (HOST_SECONDS + pod_seconds)))


def lacking_policy(policy: Mapping[str, Any] | None) -> str:
    """What is missing of the ClusterPolicy; empty when it is ready for a reason that counts.

    Without labels of NFD or without hosts it calls itself ready, and nothing runs anywhere.
    """
    if policy is None:
        return "there is no ClusterPolicy yet"
    conditions = {item["type"]: item for item in policy.get("status", {}).get("conditions", ())}
    ready, error = conditions.get("Ready", {}), conditions.get("Error", {})
    if ready.get("status") == "True" and ready.get("reason") == "Reconciled":
        return ""
    if ready.get("status") == "True":
        return f"ClusterPolicy is ready without having done anything ({ready.get('reason')}: {ready.get('message')})"
    return f"ClusterPolicy is not ready ({error.get('message') or 'it says nothing yet'})"


def lacking_gpus(nodes: Iterable[Mapping[str, Any]], pools: Iterable[Wanted]) -> Iterator[str]:
    """Yield each pool with fewer hosts than wanted that give out all of their GPUs."""
    given: dict[str, list[int]] = {}
    for node in nodes:
        pool = node["metadata"].get("labels", {}).get(POOL_LABEL, "")
        given.setdefault(pool, []).append(int(node.get("status", {}).get("allocatable", {}).get(GPU, 0)))
    for want in pools:
        whole = sum(gpus >= want.gpus for gpus in given.get(want.pool, ()))
        if whole < want.hosts:
            yield f"pool {want.pool!r}: {whole} of {want.hosts} hosts give out their {want.gpus} GPUs"


def lacking_driver(sets: Iterable[Mapping[str, Any]], pool: str, digest: str) -> str:
    """What is missing of a pool's driver; empty when every host of it runs the newest one.

    Args:
        sets: DaemonSets of the operator's namespace.
        digest: of the spec that must have arrived.
    """
    ours = [item for item in sets if item["metadata"].get("labels", {}).get(POOL_LABEL) == pool]
    if not ours:
        return f"pool {pool!r}: no driver is rolled out yet; are its hosts labelled by NFD?"
    for item in ours:
        if item["metadata"].get("annotations", {}).get(DIGEST) != digest:
            return f"pool {pool!r}: the operator has not taken up the new driver yet"
        status = item.get("status", {})
        all_of_them = status.get("desiredNumberScheduled", 0)
        done = min(status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
        if status.get("observedGeneration", 0) < item["metadata"].get("generation", 1) or done < all_of_them:
            return f"pool {pool!r}: {done} of {all_of_them} hosts run the new driver"
    return ""
