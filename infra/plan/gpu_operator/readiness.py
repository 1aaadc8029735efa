"""When GPUs are there: not when a chart is deployed, but when every host gives out what its board has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any

from infra.catalog.mig import DISABLED
from infra.errors import CheckError
from infra.plan.allocatable import MOST_SECONDS, Wanted, wanted_of
from infra.plan.facts import Plan
from infra.plan.gpu_operator.objects import DIGEST
from infra.plan.gpu_operator.values import operated
from infra.plan.labels import MIG_LABEL, POOL_LABEL

LEAST_SECONDS = 45 * 60
"""Shortest deadline (seconds): images of gigabytes, then a driver that is compiled for 20 minutes, twice."""

HOST_SECONDS = 20 * 60
"""One host from its old driver to its new one (seconds), beside the wait for its pods. Source: values.yaml of v26.7.0,
driver.startupProbe: a minute and 120 tries of ten seconds."""

GPU = "nvidia.com/gpu"
"""Extended resource of a GPU."""

DRIVERS = {"app.kubernetes.io/component": "nvidia-driver"}
"""Labels of each DaemonSet of a driver. Source: gpu-operator v26.7.0, manifests/state-driver/0500_daemonset.yaml."""

MIG_STATE_LABEL = "nvidia.com/mig.config.state"
"""What became of the last split: pending, rebooting, success or failed. Source: mig-parted, deployments/container."""

UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade-state"
"""How far a host is on its way to a newer driver: cordoned, drained, restarted and given back. Source: gpu-operator
v26.7.0, vendor/…/k8s-operator-libs/pkg/upgrade/consts.go."""


def wanted(plan: Plan) -> tuple[Wanted, ...]:
    """What must be there of each pool whose GPUs go through the device plugin and stay whole."""
    if plan.gpu_operator.config.dra or plan.ownership.device_plugin != "operator":
        return ()
    return tuple(
        wanted_of(pool, GPU, pool.board.gpus) for pool in operated(plan) if pool.pool.gpu_operator.mig == DISABLED
    )


def split(plan: Plan) -> tuple[str, ...]:
    """Pools whose GPUs the MIG manager splits."""
    return tuple(pool.name for pool in operated(plan) if pool.pool.gpu_operator.mig != DISABLED)


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


def lacking_split(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each host whose GPUs are not split yet as its label asks.

    Raises:
        CheckError: the MIG manager gave up on one, which it does not try again by itself (gpu-operator#1361).
    """
    for node in nodes:
        name, labels = node["metadata"]["name"], node["metadata"].get("labels", {})
        profile, state = labels.get(MIG_LABEL, "none"), labels.get(MIG_STATE_LABEL, "absent")
        if state == "failed":
            raise CheckError(
                f"pool {labels.get(POOL_LABEL)!r} — the MIG manager could not split host {name} as {profile!r} — "
                f"{MIG_STATE_LABEL}=success was expected — see the log of its pod nvidia-mig-manager there; "
                "take pods off the host, or set the pool's gpu_operator.mig back"
            )
        if state != "success":
            yield f"host {name}: GPUs are not split as {profile!r} yet ({MIG_STATE_LABEL}: {state})"


def lacking_driver(sets: Iterable[Mapping[str, Any]], pool: str, digest: str) -> str:
    """What is missing of a pool's driver; empty when every host of it runs the newest one.

    Args:
        sets: DaemonSets of the operator's namespace.
        digest: of the spec that must have arrived.
    """
    ours = [item for item in sets if _pods(item).get("labels", {}).get(POOL_LABEL) == pool]
    if not ours:
        return f"pool {pool!r}: no driver is rolled out yet; are its hosts labelled by NFD?"
    for item in ours:
        if _pods(item).get("annotations", {}).get(DIGEST) != digest:
            return f"pool {pool!r}: the operator has not taken up the new driver yet"
        status = item.get("status", {})
        all_of_them = status.get("desiredNumberScheduled", 0)
        if not all_of_them:
            return f"pool {pool!r}: its driver is wanted on no host; are its hosts labelled by NFD?"
        done = min(status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
        if status.get("observedGeneration", 0) < item["metadata"].get("generation", 1) or done < all_of_them:
            return f"pool {pool!r}: {done} of {all_of_them} hosts run the new driver"
    return ""


def lacking_upgrade(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each host that has not been given back yet; its driver is ready some time before that.

    Raises:
        CheckError: the operator gave up on one, which it does not try again by itself.
    """
    for node in nodes:
        name, labels = node["metadata"]["name"], node["metadata"].get("labels", {})
        state = labels.get(UPGRADE_LABEL, "")
        if state == "upgrade-failed":
            raise CheckError(
                f"pool {labels.get(POOL_LABEL)!r} — the operator gave up on the new driver of host {name} — "
                f"{UPGRADE_LABEL}=upgrade-done was expected — see the events of the host and of its driver's pod; "
                f"when they are mended, delete that pod and set the label to upgrade-required"
            )
        if state not in ("", "upgrade-done"):
            yield f"host {name} is still on its way to the new driver ({UPGRADE_LABEL}: {state})"


def _pods(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is said of a DaemonSet's pods; until v26 the operator says of itself nothing that a driver's object says."""
    found: Mapping[str, Any] = item["spec"]["template"]["metadata"]
    return found
