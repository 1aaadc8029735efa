"""The ground that models stand on, in its order: cluster objects, hosts, their fabric, queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pulumi

from infra.components.gpu_pool import GpuPool, GpuPoolArgs
from infra.components.objects import create
from infra.components.queues import Queues, QueuesArgs
from infra.components.rdma_network import RdmaNetwork, RdmaNetworkArgs
from infra.plan.fabric.objects import is_needed
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest


def ground(
    plan: Plan, once: Mapping[str, Manifest], pools: Iterable[GpuPoolArgs], opts: pulumi.ResourceOptions
) -> pulumi.ResourceOptions:
    """Declare it, and return the options of what comes after all of it.

    Args:
        once: objects that the cluster needs once: name → manifest.
        pools: each pool with what its target makes of it.
    """
    made: list[pulumi.Resource] = [create(name, manifest, opts) for name, manifest in once.items()]
    made += [GpuPool(f"pool-{args.plan.name}", args, opts) for args in pools]
    if is_needed(plan):
        # NIC drivers before GPU drivers: what builds against them must find them.
        made += RdmaNetwork("network", RdmaNetworkArgs(plan), after(made, opts)).ready
    if plan.scheduling.kueue:
        made += Queues("queues", QueuesArgs(plan, plan.scheduling.kueue), after(made, opts)).ready
    return after(made, opts)


def after(made: list[pulumi.Resource], opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """The same options for what waits for some resources."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(made)))
