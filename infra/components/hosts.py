"""Hosts of a stack and what pods need of them, in its order: cluster objects, pools, fabric, operator, queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pulumi

from infra.components.gpu_operator import GpuOperator, GpuOperatorArgs
from infra.components.gpu_pool import GpuPool, GpuPoolArgs
from infra.components.ground import Footing
from infra.components.objects import create
from infra.components.queues import Queues, QueuesArgs
from infra.components.rdma_network import RdmaNetwork, RdmaNetworkArgs
from infra.plan.fabric.objects import is_needed
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Resource

Parts = tuple[tuple[Resource, ...], Mapping[str, Manifest], Mapping[str, Manifest]]
"""What a target makes of one pool: resources of its cloud, objects, and hosts that get labels."""


def hosts(plan: Plan, once: Mapping[str, Manifest], pools: Iterable[Parts], footing: Footing) -> pulumi.ResourceOptions:
    """Declare it, and return the options of what comes after all of it.

    Args:
        once: objects that the cluster needs once: name → manifest.
        pools: what the target makes of each pool, in the plan's order.
    """
    opts = footing.opts
    made: list[pulumi.Resource] = [create(name, manifest, opts) for name, manifest in once.items()]
    for pool, parts in zip(plan.pools, pools, strict=True):
        made.append(GpuPool(f"pool-{pool.name}", GpuPoolArgs(pool, *parts, footing), opts))
    if is_needed(plan):
        # NIC drivers before GPU drivers: what builds against them must find them.
        made += RdmaNetwork("network", RdmaNetworkArgs(plan, footing.kubeconfig), after(made, opts)).ready
    if plan.gpu_operator.installs:
        made += GpuOperator("gpu-operator", GpuOperatorArgs(plan, footing.kubeconfig), after(made, opts)).ready
    if plan.scheduling.kueue:
        made += Queues("queues", QueuesArgs(plan, plan.scheduling.kueue), after(made, opts)).ready
    return after(made, opts)


def after(made: list[pulumi.Resource], opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """The same options for what waits for some resources."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(made)))
