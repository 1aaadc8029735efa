"""The node pool of one pool on GKE, as plain data."""

from __future__ import annotations

from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Gcp
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.resources import Lifecycle, Resource

ACCELERATORS = {
    "a3-megagpu-8g": "nvidia-h100-mega-80gb",
    "a3-ultragpu-8g": "nvidia-h200-141gb",
    "a4-highgpu-8g": "nvidia-b200",
}
"""Machine type → GKE's name of its GPUs. Source: cluster-toolkit 1.95.0, examples/gke-{a3-megagpu,a3-ultragpu,a4}."""

RESERVATION_KEY = "compute.googleapis.com/reservation-name"
"""Label by which a node pool names its reservation. Source: GKE, Consuming reserved zonal resources."""

MADE_MINUTES = 60
"""How long a node pool may take to be there (min). Source: our choice, above the provider's 30 for large machines."""

_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' taint effect → GKE's. Source: container v1, NodeTaint."""


def resource(plan: PoolPlan, shape: Shape, gcp: Gcp) -> Resource:
    """The node pool; it is upgraded host by host in place, as there is no capacity for a second one."""
    flexible = plan.pool.supply.kind == "flex-start"
    props: dict[str, Any] = {
        "project": gcp.project,
        "location": gcp.location,
        "cluster": gcp.cluster,
        "nodeCount": plan.pool.hosts,
        "nodeConfig": _config(plan, shape, gcp),
        "management": {"autoRepair": not flexible, "autoUpgrade": True},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
    }
    if plan.pool.zone:
        props["nodeLocations"] = [plan.pool.zone]
    if plan.pool.fabric != "none":
        props["networkConfig"] = {"additionalNodeNetworkConfigs": [network.model_dump() for network in gcp.networks]}
        if not plan.pool.supply.reservation and not flexible:
            # A reservation was placed when it was made.
            props["placementPolicy"] = {"type": "COMPACT"}
    # Another way of installing the driver would replace all hosts (terraform-provider-google#23248).
    life = Lifecycle(
        delete_before_replace=True,
        ignore=("nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig",),
        timeout_minutes=MADE_MINUTES,
    )
    return Resource("gcp:container/nodePool:NodePool", f"pool-{plan.name}-nodes", props, lifecycle=life)


def _config(plan: PoolPlan, shape: Shape, gcp: Gcp) -> dict[str, Any]:
    supply = plan.pool.supply
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
    if gcp.service_account:
        config["serviceAccount"] = gcp.service_account
    if supply.reservation:
        config["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": RESERVATION_KEY,
            "values": [supply.reservation],
        }
    if supply.kind == "flex-start":
        config["flexStart"] = True
    return config
