"""Hosts of one pool on OCI, as plain data: a cluster network, a GPU memory cluster, or a node pool of OKE.

Source: oci-hpc-oke 26.7.0, terraform/oke-workers.tf; OCI, Creating GPU Memory Clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Oci
from infra.plan.facts import PoolPlan
from infra.plan.resources import Lifecycle, Ref, Resource
from infra.targets.booked import KEPT, booked, reservation_of
from infra.targets.oci.cluster import Place
from infra.targets.oci.launch import details, labels, user_data

MADE_MINUTES = 120
"""How long bare metal may take to be there (min). Source: our choice, above the hour that is usual."""


def resources(plan: PoolPlan, shape: Shape, oci: Oci, place: Place) -> Iterator[Resource]:
    """What makes the hosts: by rack, on one network of the fabric, or without any."""
    if plan.pool.supply.made:
        yield _reservation(plan, shape, oci)
    if plan.pool.fabric == "none":
        yield _node_pool(plan, shape, oci, place)
        return
    name = f"pool-{plan.name}"
    by_rack = plan.board.name.startswith("nvl72")
    launch = {
        "compartmentId": oci.compartment,
        "displayName": name,
        "instanceDetails": {"instanceType": "compute", "launchDetails": details(plan, shape, oci, place)},
    }
    yield Resource("oci:Core/instanceConfiguration:InstanceConfiguration", f"{name}-launch", launch)
    yield from _rack(name, plan, oci) if by_rack else _cluster_network(name, plan, oci, place)


def _reservation(plan: PoolPlan, shape: Shape, oci: Oci) -> Resource:
    """Taken up by who names it alone."""
    props = {
        "compartmentId": oci.compartment,
        "availabilityDomain": plan.pool.zone,
        "displayName": reservation_of(plan),
        "instanceReservationConfigs": [{"instanceShape": shape.name, "reservedCount": str(plan.pool.hosts)}],
    }
    return Resource(
        "oci:Core/computeCapacityReservation:ComputeCapacityReservation", reservation_of(plan), props, lifecycle=KEPT
    )


def _cluster_network(name: str, plan: PoolPlan, oci: Oci, place: Place) -> Iterator[Resource]:
    """All hosts at once: it comes whole or not at all."""
    props = {
        "compartmentId": oci.compartment,
        "displayName": name,
        "instancePools": [
            {"instanceConfigurationId": Ref(f"{name}-launch"), "size": plan.pool.hosts, "displayName": name}
        ],
        "placementConfiguration": {
            "availabilityDomain": plan.pool.zone,
            "primaryVnicSubnets": {"subnetId": place.subnet},
        },
    }
    life = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    yield Resource("oci:Core/clusterNetwork:ClusterNetwork", f"{name}-hosts", props, lifecycle=life)


def _rack(name: str, plan: PoolPlan, oci: Oci) -> Iterator[Resource]:
    """Trays on the NVLink of one rack, which was booked as a memory fabric; racks meet on the compute cluster."""
    where = {"compartmentId": oci.compartment, "availabilityDomain": plan.pool.zone}
    yield Resource("oci:Core/computeCluster:ComputeCluster", f"{name}-network", {**where, "displayName": name})
    props = {
        **where,
        "displayName": name,
        "computeClusterId": Ref(f"{name}-network"),
        "instanceConfigurationId": Ref(f"{name}-launch"),
        "gpuMemoryFabricId": plan.pool.supply.reservation,
        "size": str(plan.pool.hosts),
        # A tray that breaks is made up for by another of the rack; none is given away.
        "gpuMemoryClusterScaleConfig": {
            "isUpsizeEnabled": True,
            "isDownsizeEnabled": False,
            "targetSize": str(plan.pool.hosts),
        },
    }
    life = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    yield Resource("oci:Core/computeGpuMemoryCluster:ComputeGpuMemoryCluster", f"{name}-hosts", props, lifecycle=life)


def _node_pool(plan: PoolPlan, shape: Shape, oci: Oci, place: Place) -> Resource:
    pool = plan.pool
    where: dict[str, Any] = {"availabilityDomain": pool.zone, "subnetId": place.subnet}
    if reservation := booked(plan):
        where["capacityReservationId"] = reservation
    props = {
        "compartmentId": oci.compartment,
        "clusterId": place.cluster,
        "name": plan.name,
        "kubernetesVersion": oci.kubernetes,
        "nodeShape": shape.name,
        "nodeSourceDetails": {
            "sourceType": "IMAGE",
            "imageId": oci.image,
            "bootVolumeSizeInGbs": str(oci.disk_gib),
        },
        "nodeConfigDetails": {
            "size": pool.hosts,
            "placementConfigs": [where],
            "nsgIds": list(place.security_groups),
        },
        "initialNodeLabels": [{"key": key, "value": value} for key, value in labels(plan).items()],
        "nodeMetadata": {"user_data": user_data(plan)},
        # There is no capacity for a second host beside the first: as many leave at once as there are spares.
        "nodePoolCyclingDetails": {
            "isNodeCyclingEnabled": True,
            "maximumSurge": "0",
            "maximumUnavailable": str(max(1, pool.spare_hosts)),
        },
    }
    life = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    return Resource("oci:ContainerEngine/nodePool:NodePool", f"pool-{plan.name}-nodes", props, lifecycle=life)
