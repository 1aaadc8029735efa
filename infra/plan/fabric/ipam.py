"""Addresses of pods on rails: a pool of nv-ipam for each network."""

from __future__ import annotations

import json

from infra.config.blocks import Network
from infra.plan.fabric.rails import RailPlan, rails_of
from infra.plan.facts import PoolPlan
from infra.plan.labels import of_pools
from infra.plan.manifests.base import Manifest, manifest

API = "nv-ipam.nvidia.com/v1alpha1"
"""Group and version of IPPool and CIDRPool. Source: nvidia-k8s-ipam 0.4.0, the one of network-operator 26.4.1."""


def pools(plan: PoolPlan, namespace: str) -> dict[str, Manifest]:
    """Pools of addresses of one pool's rails: part → manifest."""
    rails = [rail for rail in rails_of(plan) if rail.block]
    blocks = [rail.block for rail in rails if rail.block]
    return {f"addresses-{rail.number}": _pool(plan, rail, blocks, namespace) for rail in rails}


def ipam(rail: RailPlan) -> str:
    """What a network says of its addresses, as the JSON text that CNI takes."""
    if rail.block is None:
        return ""
    kind = {"poolType": "cidrpool"} if rail.routed else {}
    return json.dumps({"type": "nv-ipam", "poolName": rail.name, **kind})


def _pool(plan: PoolPlan, rail: RailPlan, blocks: list[Network], namespace: str) -> Manifest:
    spec: Manifest = {"nodeSelector": of_pools([plan.name])}
    if rail.routed:
        # The leaf is the first address of a host's prefix; a prefix of two has no address of its own.
        spec |= {"cidr": str(rail.block), "perNodeNetworkPrefix": rail.host_prefix}
        spec |= {"gatewayIndex": 0 if rail.addresses == 1 else 1, "routes": [{"dst": str(rail.block)}]}
        return manifest(API, "CIDRPool", rail.name, namespace, spec=spec)
    spec |= {"subnet": str(rail.block), "perNodeBlockSize": rail.addresses}
    if rail.gateway and rail.block:
        # A whole part that is left out is given to no host; one with the router in it would be short of an address.
        first, last = rail.block[1], rail.block[rail.addresses]
        others = [{"dst": str(block)} for block in blocks if block != rail.block]
        spec |= {"gateway": rail.gateway, "exclusions": [{"startIP": str(first), "endIP": str(last)}]}
        spec |= {"routes": others} if others else {}
    return manifest(API, "IPPool", rail.name, namespace, spec=spec)
