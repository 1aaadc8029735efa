"""The fabric in the cluster: Network Operator, NIC policies, networks, and the clouds' own programs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.components.cluster import lacking_of, reach, wait
from infra.components.objects import create
from infra.components.release import release
from infra.plan.allocatable import stuck
from infra.plan.charts import chart_of
from infra.plan.fabric import readiness
from infra.plan.fabric import release as operator
from infra.plan.fabric.objects import fabric_objects
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest


@dataclass(frozen=True, slots=True)
class RdmaNetworkArgs:
    """What is known before the update, and how the cluster is reached."""

    plan: Plan
    kubeconfig: pulumi.Input[str]
    """Path, or content."""


class RdmaNetwork(pulumi.ComponentResource):
    """Let pods of several hosts reach each other's GPUs; the number of resources does not grow with hosts."""

    ready: list[pulumi.Resource]
    """What a GPU driver waits for: NIC drivers and device plugins, once the operator says that they are there."""

    def __init__(self, name: str, args: RdmaNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:fabric:RdmaNetwork", name, {}, opts)
        self._name, self._args = name, args
        made = fabric_objects(args.plan, chart_of(args.plan, operator.CHART).version)
        base = self._operator(args.plan) if operator.is_installed(args.plan) else []
        # Functions of NICs come with the networks, so that devices are whole after the last of those only.
        policies = self._create(made.policies, base, is_last=not made.networks)
        # A network names what a policy brings, and goes before it when the stack is taken down.
        networks = self._create(made.networks, policies, is_last=True)
        self.ready = [*policies, *networks, *self._create(made.installers, [])]
        self.register_outputs({})

    def _operator(self, plan: Plan) -> list[pulumi.Resource]:
        space = create(f"{self._name}-namespace", operator.its_namespace(), pulumi.ResourceOptions(parent=self))
        opts = pulumi.ResourceOptions(parent=self, depends_on=[space])
        chart, values = chart_of(plan, operator.CHART), operator.values(plan)
        return [release(f"{self._name}-operator", chart, operator.NAMESPACE, values, operator.TIMEOUT_SECONDS, opts)]

    def _create(
        self, parts: dict[str, Manifest], after: list[pulumi.Resource], *, is_last: bool = False
    ) -> list[pulumi.Resource]:
        """Make objects beside each other; with the last one devices are waited for."""
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        made: list[pulumi.Resource] = []
        for number, (part, manifest) in enumerate(parts.items(), start=1):
            whole = self._whole() if is_last and number == len(parts) else None
            made.append(create(f"{self._name}-{part}", manifest, pulumi.ResourceOptions.merge(opts, whole)))
        return made

    def _whole(self) -> pulumi.ResourceOptions:
        """Options of what is done when every host gives out all of its devices (oci-ai-blueprints#91)."""
        pools = readiness.wanted(self._args.plan)

        async def act(_: pulumi.ResourceHookArgs) -> None:
            if (cluster := await reach(self._args.kubeconfig)) is None:
                return
            seconds, look = readiness.deadline(self._args.plan), lambda: stuck(cluster.pods(operator.NAMESPACE))
            await wait(lambda: lacking_of(cluster, pools), "fabric", seconds, look)

        hook = pulumi.ResourceHook(f"{self._name}-devices", act)
        return pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(after_create=[hook], after_update=[hook]))
