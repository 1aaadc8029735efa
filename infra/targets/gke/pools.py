"""The node pool of one pool on GKE, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Gcp
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.resources import Lifecycle, Ref, Resource
from infra.targets.booked import KEPT, booked, reservation_of
from infra.targets.gke.cluster import Place

ACCELERATORS = {
    "a3-megagpu-8g": "nvidia-h100-mega-80gb",
    "a3-ultragpu-8g": "nvidia-h200-141gb",
    "a4-highgpu-8g": "nvidia-b200",
    "a4x-highgpu-4g": "nvidia-gb200",
}
"""Machine type → GKE's name of its GPUs. Source: cluster-toolkit 1.95.0, examples/gke-*."""

RESERVATION_KEY = "compute.googleapis.com/reservation-name"
"""Label by which a node pool names its reservation. Source: GKE, Consuming reserved zonal resources."""

MADE_MINUTES = 60
"""How long a node pool may take to be there (min). Source: our choice, above the provider's 30 for large machines."""

_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' taint effect → GKE's. Source: container v1, NodeTaint."""


def resources(plan: PoolPlan, shape: Shape, gcp: Gcp, place: Place) -> Iterator[Resource]:
    """The node pool; it is upgraded host by host in place, as there is no capacity for a second one."""
    name, flexible = f"pool-{plan.name}", plan.pool.supply.kind == "flex-start"
    props: dict[str, Any] = {
        "project": gcp.project,
        "location": place.location,
        "cluster": place.cluster,
        "nodeCount": plan.pool.hosts,
        "nodeConfig": _config(plan, shape, place),
        "management": {"autoRepair": not flexible, "autoUpgrade": True},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": max(1, plan.pool.spare_hosts)},
    }
    if plan.pool.zone:
        props["nodeLocations"] = [plan.pool.zone]
    if plan.pool.fabric != "none":
        further = [network.model_dump() for network in place.networks[: len(shape.nics)]]
        props["networkConfig"] = {"additionalNodeNetworkConfigs": further}
    if plan.pool.supply.made:
        yield _reservation(plan, shape, gcp)
    if plan.board.name.startswith("nvl72"):
        yield _rack(name, gcp)
        props["placementPolicy"] = {"type": "COMPACT", "policyName": Ref(f"{name}-rack", "name")}
    elif plan.pool.fabric != "none" and not booked(plan) and not flexible:
        # A reservation was placed when it was made.
        props["placementPolicy"] = {"type": "COMPACT"}
    # Another way of installing the driver would replace all hosts (terraform-provider-google#23248).
    life = Lifecycle(
        delete_before_replace=True,
        ignore=("nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig",),
        timeout_minutes=MADE_MINUTES,
    )
    yield Resource("gcp:container/nodePool:NodePool", f"{name}-nodes", props, lifecycle=life)


def _reservation(plan: PoolPlan, shape: Shape, gcp: Gcp) -> Resource:
    """Taken up by who names it alone."""
    props = {
        "project": gcp.project,
        "zone": plan.pool.zone,
        "specificReservationRequired": True,
        "specificReservation": {"count": plan.pool.hosts, "instanceProperties": {"machineType": shape.name}},
    }
    return Resource("gcp:compute/reservation:Reservation", reservation_of(plan), props, lifecycle=KEPT)


def _rack(name: str, gcp: Gcp) -> Resource:
    """Hosts of one NVLink domain, which is a rack. Source: cluster-toolkit 1.95.0, examples/gke-a4x."""
    policy = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}
    return Resource(
        "gcp:compute/resourcePolicy:ResourcePolicy", f"{name}-rack", {"project": gcp.project, "workloadPolicy": policy}
    )


def _config(plan: PoolPlan, shape: Shape, place: Place) -> dict[str, Any]:
    supply, reservation = plan.pool.supply, booked(plan, "name")
    config: dict[str, Any] = {
        "machineType": shape.name,
        "imageType": "COS_CONTAINERD",
        "labels": own_labels(plan) | dict([plan.ownership.host_label] if plan.ownership.host_label else []),
        "taints": [{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in host_taints(plan)],
        "guestAccelerators": [
            {
                "type": ACCELERATORS[shape.name],
                "count": plan.board.gpus,
                "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
            }
        ],
        "gvnic": {"enabled": True},
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
    }
    if place.service_account:
        config["serviceAccount"] = place.service_account
    if reservation:
        config["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": RESERVATION_KEY,
            "values": [reservation],
        }
    if supply.kind == "flex-start":
        config["flexStart"] = True
    return config
