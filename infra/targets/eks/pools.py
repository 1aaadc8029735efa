"""Node groups of one pool on EKS, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Aws
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.resources import Lifecycle, Ref, Resource
from infra.targets.booked import KEPT, booked, reservation_of
from infra.targets.eks.cluster import Place
from infra.targets.eks.launch import template

MADE_MINUTES = 60
"""How long a node group may take to be there (min): large hosts boot for a quarter of an hour, one after another."""

IMAGES = {"amd64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}
"""Architecture of hosts → kind of the image with driver and toolkit in it. Source: EKS API, AMITypes."""

_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' taint effect → EKS's. Source: EKS API, Taint."""


def resources(plan: PoolPlan, aws: Aws, place: Place) -> Iterator[Resource]:
    """Security group of the fabric, placement group where nothing else says where hosts stand, template, node group."""
    shape, name = plan.shape, f"pool-{plan.name}"
    if shape is None:
        return
    if plan.pool.supply.made:
        yield _reservation(plan, shape)
    groups: list[Any] = [place.security_group]
    placement = None
    if plan.pool.fabric != "none":
        yield _fabric_group(name, plan, place)
        groups.append(Ref(f"{name}-fabric"))
        if not booked(plan):
            yield Resource("aws:ec2/placementGroup:PlacementGroup", f"{name}-placement", {"strategy": "cluster"})
            placement = Ref(f"{name}-placement", "name")
    made = template(plan, shape, aws, place.name, groups, placement)
    yield Resource("aws:ec2/launchTemplate:LaunchTemplate", f"{name}-launch", made)
    yield _nodes(name, plan, place)


def _reservation(plan: PoolPlan, shape: Shape) -> Resource:
    """Open to whoever names it, so that no other host of the account takes it up."""
    props = {
        "instanceType": shape.name,
        "instancePlatform": "Linux/UNIX",
        "availabilityZone": plan.pool.zone,
        "instanceCount": plan.pool.hosts,
        "instanceMatchCriteria": "targeted",
    }
    return Resource("aws:ec2/capacityReservation:CapacityReservation", reservation_of(plan), props, lifecycle=KEPT)


def _fabric_group(name: str, plan: PoolPlan, place: Place) -> Resource:
    """EFA needs all of a group's traffic to itself allowed in both directions. Source: AWS, Get started with EFA."""
    own = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}
    out = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}
    props = {
        "vpcId": place.vpc,
        "description": f"hosts of pool {plan.name} among themselves",
        "ingress": [own],
        "egress": [own, out],
    }
    return Resource("aws:ec2/securityGroup:SecurityGroup", f"{name}-fabric", props)


def _nodes(name: str, plan: PoolPlan, place: Place) -> Resource:
    hosts = plan.pool.hosts
    block = plan.pool.supply.kind == "capacity-block"
    props: dict[str, Any] = {
        "clusterName": place.cluster,
        "nodeRoleArn": place.node_role,
        "subnetIds": [place.subnets[zone] for zone in sorted(place.subnets) if plan.pool.zone in ("", zone)],
        "amiType": IMAGES[plan.board.arch],
        "capacityType": "CAPACITY_BLOCK" if block else "ON_DEMAND",
        "scalingConfig": {"desiredSize": hosts, "minSize": 0, "maxSize": hosts},
        "labels": own_labels(plan),
        "taints": [{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in host_taints(plan)],
        "launchTemplate": {
            "id": Ref(f"{name}-launch"),
            "version": Ref(f"{name}-launch", "latestVersion", as_text=True),
        },
        # There is no capacity for a second host beside the first: as many leave at once as there are spares.
        "updateConfig": {"maxUnavailable": max(1, plan.pool.spare_hosts), "updateStrategy": "MINIMAL"},
    }
    lifecycle = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    return Resource("aws:eks/nodeGroup:NodeGroup", f"{name}-nodes", props, lifecycle=lifecycle)
