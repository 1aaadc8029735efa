"""One pool: what the target needs so that its hosts exist and carry their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from infra.components import cloud
from infra.components.ground import Footing
from infra.components.objects import create
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_labels, host_resources
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Resource


@dataclass(frozen=True, slots=True)
class GpuPoolArgs:
    """What is known before the update."""

    plan: PoolPlan
    resources: tuple[Resource, ...]
    """Resources of a cloud for this pool, each after those that it refers to."""
    objects: Mapping[str, Manifest]
    """Objects of the target for this pool: part → manifest."""
    patches: Mapping[str, Manifest]
    """Hosts that exist already and get labels and taints: host → fields."""
    footing: Footing
    """What its resources refer to and wait for."""


class GpuPool(pulumi.ComponentResource):
    """Provide the hosts of one pool; the number of resources does not grow with them."""

    def __init__(self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:pools:GpuPool", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        # Before the cluster is whole no host could join it.
        after = pulumi.ResourceOptions(parent=self, depends_on=args.footing.after or None)
        cloud.create(args.resources, after, dict(args.footing.made))
        for part, manifest in args.objects.items():
            create(f"{name}-{part}", manifest, child)
        for host, fields in args.patches.items():
            k8s.core.v1.NodePatch(f"{name}-{host}", metadata=fields["metadata"], opts=child)
        facts = {"hosts": args.plan.pool.hosts, "gpus": args.plan.gpus}
        self.register_outputs({**facts, **_provides(args)})


def _provides(args: GpuPoolArgs) -> Manifest:
    """What hosts offer that no object of the stack describes to Kubernetes, for the policies to judge pods by."""
    if args.plan.simulated or args.patches:
        return {}
    classes = [args.plan.runtime_class] if args.plan.runtime_class else []
    labels, resources = host_labels(args.plan), host_resources(args.plan)
    if args.plan.missing_parts:
        # Nobody registers the devices of its fabric.
        resources = {name: amount for name, amount in resources.items() if name not in args.plan.rdma_resources}
    return {"provides": {"labels": labels, "resources": resources, "runtimeClasses": classes}}
