"""The fabric in the cluster: Network Operator, NIC policies, networks, and the clouds' own programs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.components.objects import create
from infra.components.release import release
from infra.plan.charts import chart_of
from infra.plan.fabric import release as operator
from infra.plan.fabric.objects import fabric_objects
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest


@dataclass(frozen=True, slots=True)
class RdmaNetworkArgs:
    """What is known before the update."""

    plan: Plan


class RdmaNetwork(pulumi.ComponentResource):
    """Let pods of several hosts reach each other's GPUs; the number of resources does not grow with hosts."""

    ready: list[pulumi.Resource]
    """What a GPU driver waits for: NIC drivers and device plugins, once the operator says that they are there."""

    def __init__(self, name: str, args: RdmaNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:fabric:RdmaNetwork", name, {}, opts)
        self._name = name
        made = fabric_objects(args.plan, chart_of(args.plan, operator.CHART).version)
        base = self._operator(args.plan) if operator.is_installed(args.plan) else []
        policies = self._create(made.policies, base)
        # A network names what a policy brings, and goes before it when the stack is taken down.
        networks = self._create(made.networks, policies)
        self.ready = [*policies, *networks, *self._create(made.installers, [])]
        self.register_outputs({})

    def _operator(self, plan: Plan) -> list[pulumi.Resource]:
        space = create(f"{self._name}-namespace", operator.its_namespace(), pulumi.ResourceOptions(parent=self))
        opts = pulumi.ResourceOptions(parent=self, depends_on=[space])
        chart, values = chart_of(plan, operator.CHART), operator.values(plan)
        return [release(f"{self._name}-operator", chart, operator.NAMESPACE, values, operator.TIMEOUT_SECONDS, opts)]

    def _create(self, parts: dict[str, Manifest], after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        return [create(f"{self._name}-{part}", manifest, opts) for part, manifest in parts.items()]
