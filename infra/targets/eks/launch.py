"""The launch template of one pool: interfaces card by card, what was booked, the disk, and how the node begins."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Aws
from infra.plan.facts import PoolPlan
from infra.plan.resources import Ref
from infra.targets.booked import booked

MARKET = {"capacity-block": {"marketType": "capacity-block"}}
"""Market of an instance by the way it is had; on demand needs none. Source: EC2, RequestLaunchTemplateData."""

NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
--//--
"""
"""The NVMe disks of a node become one, on which images and caches lie. Source: nodeadm, NodeConfig v1alpha1."""


def template(
    plan: PoolPlan, shape: Shape, aws: Aws, cluster: str, groups: list[Any], placement: Ref | None
) -> dict[str, Any]:
    """Properties of the launch template, in the spelling of Pulumi's schema.

    Args:
        cluster: its name, by which people find a host.
        groups: security groups of every interface.
        placement: name of the placement group; None when what was booked says where hosts stand, or no fabric needs
            them close.
    """
    supply, reservation = plan.pool.supply, booked(plan)
    props: dict[str, Any] = {
        "instanceType": shape.name,
        "updateDefaultVersion": True,
        "userData": base64.b64encode(NODE_CONFIG.encode()).decode(),
        "networkInterfaces": [_interface(nic.card, nic.device, nic.kind, groups) for nic in _nics(plan, shape)],
        # Pods reach the metadata of their host in one hop more; the token keeps a forged request from it.
        "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2},
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": _disk(aws)}],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": f"{cluster}-{plan.name}"}}],
    }
    if placement:
        props["placement"] = {"groupName": placement}
    if market := MARKET.get(supply.kind):
        props["instanceMarketOptions"] = market
    if reservation:
        target = {"capacityReservationId": reservation}
        props["capacityReservationSpecification"] = {"capacityReservationTarget": target}
    return props


def _nics(plan: PoolPlan, shape: Shape) -> list[Any]:
    """All of them, or the plain ones on a pool without fabric."""
    return [nic for nic in shape.nics if plan.pool.fabric != "none" or not nic.is_fabric]


def _interface(card: int, device: int, kind: str, groups: list[Any]) -> Mapping[str, Any]:
    return {
        "networkCardIndex": card,
        "deviceIndex": device,
        "interfaceType": kind,
        "securityGroups": groups,
        "deleteOnTermination": "true",
    }


def _disk(aws: Aws) -> Mapping[str, Any]:
    return {"volumeSize": aws.disk_gib, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
