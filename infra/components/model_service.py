"""One model behind one stable address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from infra.components.objects import create
from infra.plan.facts import ModelPlan
from infra.plan.manifests import model, weights


@dataclass(frozen=True, slots=True)
class ModelServiceArgs:
    """What is known before the update."""

    plan: ModelPlan
    callers: Sequence[str]
    """Namespaces that may connect to its replicas."""


class ModelService(pulumi.ComponentResource):
    """Serve one model with equal replicas."""

    url: pulumi.Output[str]
    """Base URL inside the cluster, without trailing slash, ending in ``/v1``."""

    def __init__(self, name: str, args: ModelServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:serving:ModelService", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        parts = model.objects(args.plan, args.callers)
        before = self._weights(name, args.plan)
        deployment = parts.pop("deploy")
        before += [create(f"{name}-{part}", manifest, child) for part, manifest in parts.items()]
        create(f"{name}-deploy", deployment, pulumi.ResourceOptions(parent=self, depends_on=before))
        host = f"{args.plan.name}.{model.NAMESPACE}.svc"
        self.url = pulumi.Output.from_input(f"http://{host}:{args.plan.engine.port}/v1")
        self.register_outputs({"url": self.url})

    def _weights(self, name: str, plan: ModelPlan) -> list[pulumi.Resource]:
        if not plan.model.weights.claim:
            return []
        # Weights outlive the model: a claim deleted by mistake costs hours of download.
        keep = pulumi.ResourceOptions(parent=self, retain_on_delete=True)
        claim = create(f"{name}-claim", weights.claim(plan), keep)
        fetch = pulumi.ResourceOptions(parent=self, depends_on=[claim])
        return [create(f"{name}-weights", weights.download(plan), fetch)]
