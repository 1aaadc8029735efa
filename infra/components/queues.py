"""Kueue in the cluster: its controller, hosts by leaf, and the queues that models come from."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.components.objects import create
from infra.components.release import release
from infra.config.scheduling import Kueue
from infra.plan.charts import chart_of
from infra.plan.facts import Plan
from infra.plan.manifests import kueue as objects
from infra.plan.manifests.base import Manifest, namespace


@dataclass(frozen=True, slots=True)
class QueuesArgs:
    """What is known before the update."""

    plan: Plan
    kueue: Kueue


class Queues(pulumi.ComponentResource):
    """Admit pods by quota and put them by leaf.

    Each object comes after what it names, so that a stack that is taken down empties its queues while the controller
    that lets go of them still runs.
    """

    ready: list[pulumi.Resource]
    """What models wait for."""

    def __init__(self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:scheduling:Queues", name, {}, opts)
        self._name = name
        base = self._controller(args) if args.kueue.install else []
        hosts = self._create(objects.hosts(args.plan, args.kueue), base)
        queues = self._create(objects.queues(args.plan, args.kueue), hosts)
        self.ready = self._create(objects.doors(args.plan, args.kueue), queues)
        self.register_outputs({})

    def _controller(self, args: QueuesArgs) -> list[pulumi.Resource]:
        space = namespace(args.kueue.namespace, pod_security="restricted")
        made = create(f"{self._name}-namespace", space, pulumi.ResourceOptions(parent=self))
        opts = pulumi.ResourceOptions(parent=self, depends_on=[made])
        chart = chart_of(args.plan, objects.CHART)
        return [
            release(f"{self._name}-operator", chart, args.kueue.namespace, {}, objects.INSTALL_SECONDS, opts),
        ]

    def _create(self, parts: dict[str, Manifest], after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        return [create(f"{self._name}-{part}", body, opts) for part, body in parts.items()]
