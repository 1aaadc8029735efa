"""The one door of the cluster: stock Envoy, rendered from the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pydantic import SecretStr

from infra.components.objects import create
from infra.plan.facts import Plan
from infra.plan.manifests import gateway


@dataclass(frozen=True, slots=True)
class GatewayArgs:
    """What is known before the update."""

    plan: Plan
    key_values: Mapping[str, SecretStr]
    """Value of each key, by key id; leaves this process as a secret only."""


class GatewayService(pulumi.ComponentResource):
    """Answer for all models, to those who have a key."""

    url: pulumi.Output[str]
    """Base URL inside the cluster, ending in ``/v1``."""

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:serving:Gateway", name, {}, opts)
        values = {key: value.get_secret_value() for key, value in args.key_values.items()}
        text = gateway.config_text(args.plan, values)
        parts = gateway.objects(args.plan.gateway, pulumi.Output.secret(text), gateway.digest(text))
        deployment = parts.pop("deploy")
        child = pulumi.ResourceOptions(parent=self)
        before = [create(f"{name}-{part}", manifest, child) for part, manifest in parts.items()]
        create(f"{name}-deploy", deployment, pulumi.ResourceOptions(parent=self, depends_on=before))
        self.url = pulumi.Output.from_input(gateway.url(args.plan.gateway))
        self.register_outputs({"url": self.url})
