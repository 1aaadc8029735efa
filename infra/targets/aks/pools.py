"""The agent pool of one pool on AKS, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Azure
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.resources import Lifecycle, Ref, Resource
from infra.targets.aks.cluster import Place
from infra.targets.booked import KEPT, booked, reservation_of

MADE_MINUTES = 60
"""How long an agent pool may take to be there (min). Source: our choice; large hosts boot for a quarter of an hour."""

DRAIN_MINUTES = 60
"""How long a host may take to be drained at an upgrade (min). Source: our choice, above the longest answer and the
start of an engine elsewhere; AKS's own is 30."""


def resources(plan: PoolPlan, shape: Shape, azure: Azure, place: Place) -> Iterator[Resource]:
    """One scale set, which is what stands on one fabric. Source: aks-rdma-infiniband, prerequisites."""
    pool = plan.pool
    props: dict[str, Any] = {
        "resourceGroupName": azure.resource_group,
        "resourceName": place.cluster,
        "agentPoolName": plan.name,
        "mode": "User",
        "type": "VirtualMachineScaleSets",
        "vmSize": shape.name,
        "count": pool.hosts,
        "osType": "Linux",
        "osSKU": "Ubuntu",
        "osDiskSizeGB": azure.disk_gib,
        "enableNodePublicIP": False,
        "vnetSubnetID": place.subnet,
        # A driver of AKS's own beside the GPU Operator's would rewrite containerd's configuration for good.
        "gpuProfile": {"driver": "None"},
        "nodeLabels": own_labels(plan),
        "nodeTaints": [f"{taint['key']}={taint['value']}:{taint['effect']}" for taint in host_taints(plan)],
        # There is no capacity for a second host beside the first: as many leave at once as there are spares.
        "upgradeSettings": {
            "maxSurge": "0",
            "maxUnavailable": str(max(1, pool.spare_hosts)),
            "drainTimeoutInMinutes": DRAIN_MINUTES,
        },
    }
    if pool.zone:
        props["availabilityZones"] = [pool.zone]
    if pool.supply.made:
        yield from _reservation(plan, shape, azure)
    if reservation := booked(plan):
        props["capacityReservationGroupID"] = reservation
    life = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    after = (f"{reservation_of(plan)}-hosts",) if pool.supply.made else ()
    yield Resource("azure-native:containerservice:AgentPool", f"pool-{plan.name}-nodes", props, after, life)


def _reservation(plan: PoolPlan, shape: Shape, azure: Azure) -> Iterator[Resource]:
    """A group, which the pool names, with one reservation in it, which must be there before the pool."""
    zones = {"zones": [plan.pool.zone]} if plan.pool.zone else {}
    name, own = reservation_of(plan), {"resourceGroupName": azure.resource_group, **zones}
    yield Resource("azure-native:compute:CapacityReservationGroup", name, own, lifecycle=KEPT)
    props = {
        **own,
        "capacityReservationGroupName": Ref(name, "name"),
        "sku": {"name": shape.name, "capacity": plan.pool.hosts},
    }
    yield Resource("azure-native:compute:CapacityReservation", f"{name}-hosts", props, lifecycle=KEPT)
