"""Node groups of one pool on EKS, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.config.clouds import Aws
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.resources import Lifecycle, Ref, Resource
from infra.targets.eks.launch import template

MADE_MINUTES = 60
"""How long a node group may take to be there (min): large hosts boot for a quarter of an hour, one after another."""

_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' taint effect → EKS's. Source: EKS API, Taint."""


def resources(plan: PoolPlan, aws: Aws) -> Iterator[Resource]:
    """Security group of the fabric, placement group where nothing else says where hosts stand, template, node group."""
    shape, name = plan.shape, f"pool-{plan.name}"
    if shape is None:
        return
    groups: list[Any] = [aws.security_group]
    placement = None
    if plan.pool.fabric != "none":
        yield _fabric_group(name, plan, aws)
        groups.append(Ref(f"{name}-fabric"))
        if not plan.pool.supply.reservation:
            yield Resource("aws:ec2/placementGroup:PlacementGroup", f"{name}-placement", {"strategy": "cluster"})
            placement = Ref(f"{name}-placement", "name")
    made = template(plan, shape, aws, groups, placement)
    yield Resource("aws:ec2/launchTemplate:LaunchTemplate", f"{name}-launch", made)
    yield _nodes(name, plan, aws)


def _fabric_group(name: str, plan: PoolPlan, aws: Aws) -> Resource:
    """EFA needs all of a group's traffic to itself allowed in both directions. Source: AWS, Get started with EFA."""
    own = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}
    out = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}
    props = {
        "vpcId": aws.vpc,
        "description": f"hosts of pool {plan.name} among themselves",
        "ingress": [own],
        "egress": [own, out],
    }
    return Resource("aws:ec2/securityGroup:SecurityGroup", f"{name}-fabric", props)


def _nodes(name: str, plan: PoolPlan, aws: Aws) -> Resource:
    hosts = plan.pool.hosts
    block = plan.pool.supply.kind == "capacity-block"
    props: dict[str, Any] = {
        "clusterName": aws.cluster,
        "nodeRoleArn": aws.node_role,
        "subnetIds": [aws.subnets[zone] for zone in sorted(aws.subnets) if plan.pool.zone in ("", zone)],
        "amiType": aws.image,
        "capacityType": "CAPACITY_BLOCK" if block else "ON_DEMAND",
        "scalingConfig": {"desiredSize": hosts, "minSize": 0, "maxSize": hosts},
        "labels": own_labels(plan),
        "taints": [{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in host_taints(plan)],
        "launchTemplate": {
            "id": Ref(f"{name}-launch"),
            "version": Ref(f"{name}-launch", "latestVersion", as_text=True),
        },
        # There is no capacity for a second host beside the first.
        "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
    }
    lifecycle = Lifecycle(delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    return Resource("aws:eks/nodeGroup:NodeGroup", f"{name}-nodes", props, lifecycle=lifecycle)
