"""The GPU Operator: kinds first, one NFD, a driver for each pool, and GPUs that are really there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pulumi

from infra.components.cluster import UNREACHABLE, lacking_of, reach, wait
from infra.components.objects import create, read
from infra.components.release import release
from infra.errors import ConfigError
from infra.plan.allocatable import stuck
from infra.plan.charts import chart_of
from infra.plan.facts import Plan
from infra.plan.gpu_operator import objects, readiness
from infra.plan.gpu_operator.discovery import LABEL, bringer, other_operator, second
from infra.plan.gpu_operator.values import NAME, brings_definitions, pod_deadline, values
from infra.plan.labels import POOL_LABEL
from infra.plan.manifests.base import Manifest

DEFINITIONS = Path(__file__).parent / "crds"
"""Kinds of the operator and of NFD, without the descriptions that only people read."""

Hook = Callable[[pulumi.ResourceHookArgs], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class GpuOperatorArgs:
    """What is known before the update, and how the cluster is reached."""

    plan: Plan
    kubeconfig: pulumi.Input[str]
    """Path, or content."""


class GpuOperator(pulumi.ComponentResource):
    """Bring GPUs to pods; the number of resources grows with pools, never with hosts."""

    ready: list[pulumi.Resource]
    """What pods with GPUs wait for."""

    def __init__(self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:gpus:GpuOperator", name, {}, opts)
        self._name, self._args = name, args
        plan, own = args.plan, objects.drivers(args.plan)
        base = self._ground(plan)
        whole = self._hook("gpus", self._gpus())
        foreign = self._hook("one-of-each", self._no_other, on_preview=True)
        hooks = pulumi.ResourceHookBinding(
            before_create=[foreign],
            # With drivers of pools, GPUs come after the last of those.
            after_create=[] if own else [whole],
            after_update=[whole],
        )
        child = pulumi.ResourceOptions(parent=self, depends_on=base, hooks=hooks)
        skip, chart = brings_definitions(plan), chart_of(plan, NAME)
        operator = release(f"{name}-release", chart, NAME, values(plan), readiness.LEAST_SECONDS, child, skip_crds=skip)
        self.ready = [operator, *self._drivers(own, operator, whole)]
        self.register_outputs({})

    def _ground(self, plan: Plan) -> list[pulumi.Resource]:
        # Kinds take all objects of theirs along, those of others too.
        keep = pulumi.ResourceOptions(parent=self, retain_on_delete=True)
        folders = [NAME] if brings_definitions(plan) else []
        folders += ["node-feature-discovery"] if folders and bringer(plan) == NAME else []
        kinds = [(f"kind-{kind}", item) for folder in folders for kind, item in read(DEFINITIONS / folder)]
        made: list[pulumi.Resource] = [create(f"{self._name}-{part}", item, keep) for part, item in kinds]
        space, *rest = objects.ground(plan).items()
        child = pulumi.ResourceOptions(parent=self)
        made.append(first := create(f"{self._name}-{space[0]}", space[1], child))
        after = pulumi.ResourceOptions(parent=self, depends_on=[first])
        return made + [create(f"{self._name}-{part}", item, after) for part, item in rest]

    def _drivers(
        self, own: dict[str, Manifest], operator: pulumi.Resource, whole: pulumi.ResourceHook
    ) -> list[pulumi.Resource]:
        """One after another: while one pool's hosts go, those of the next stay."""
        made: list[pulumi.Resource] = [operator]
        for pool, item in own.items():
            rolled = self._hook(f"driver-{pool}", self._driver(pool, item["spec"]["annotations"][objects.DIGEST]))
            last = [whole] if pool == list(own)[-1] else []
            opts = pulumi.ResourceOptions(
                parent=self,
                depends_on=[made[-1]],
                hooks=pulumi.ResourceHookBinding(after_create=[rolled, *last], after_update=[rolled]),
                # The operator does not take a change of it.
                replace_on_changes=["spec.usePrecompiled"],
                delete_before_replace=True,
            )
            made.append(create(f"{self._name}-driver-{pool}", item, opts))
        return made[1:]

    def _hook(self, part: str, act: Hook, *, on_preview: bool = False) -> pulumi.ResourceHook:
        return pulumi.ResourceHook(f"{self._name}-{part}", act, pulumi.ResourceHookOptions(on_dry_run=on_preview))

    async def _no_other(self, _: pulumi.ResourceHookArgs) -> None:
        """Refuse a second NFD, or a second operator, by name: two of them write one host's labels in turns."""
        try:
            cluster = await reach(self._args.kubeconfig)
            sets = cluster.daemon_sets("*", LABEL) if cluster else []
            policy = cluster.cluster_policy() if cluster else None
        except UNREACHABLE as error:
            pulumi.log.warn(f"whether there is an NFD or a GPU Operator already cannot be told: {error}")
            return
        if found := [str(item) for item in (second(self._args.plan, sets), other_operator(policy)) if item]:
            raise ConfigError(*found)

    def _gpus(self) -> Hook:
        plan = self._args.plan
        pools, split = readiness.wanted(plan), readiness.split(plan)

        async def act(_: pulumi.ResourceHookArgs) -> None:
            cluster = await reach(self._args.kubeconfig)
            if cluster is None or plan.gpu_operator.config.dra:
                return

            def lacking() -> Iterator[str]:
                if said := readiness.lacking_policy(cluster.cluster_policy()):
                    yield said
                    return
                yield from lacking_of(cluster, pools)
                for pool in split:
                    yield from readiness.lacking_split(cluster.nodes({POOL_LABEL: pool}))

            seconds = readiness.deadline(plan, sum(want.hosts for want in pools), 0)
            await wait(lacking, "GPU Operator", seconds, lambda: stuck(cluster.pods(NAME)))

        return act

    def _driver(self, pool: str, digest: str) -> Hook:
        plan = self._args.plan
        hosts = next(item.pool.hosts for item in plan.pools if item.name == pool)

        async def act(_: pulumi.ResourceHookArgs) -> None:
            cluster = await reach(self._args.kubeconfig)
            if cluster is None:
                return

            def lacking() -> Iterator[str]:
                sets = cluster.daemon_sets(NAME, readiness.DRIVERS)
                if said := readiness.lacking_driver(sets, pool, digest):
                    yield said
                else:
                    yield from readiness.lacking_upgrade(cluster.nodes({POOL_LABEL: pool}))

            seconds = readiness.deadline(plan, hosts, pod_deadline(plan))
            await wait(lacking, f"driver of pool {pool!r}", seconds, lambda: stuck(cluster.pods(NAME)))

        return act
