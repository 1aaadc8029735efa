"""What watches the stack: exporters, Prometheus and Alertmanager, or only what a Prometheus that is there picks up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi

from infra.components.objects import create, read
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests import observability
from infra.plan.manifests.base import Manifest

DEFINITIONS = Path(__file__).parent / "crds" / "prometheus-operator"
"""Definitions of what the operator reads, without the descriptions that only people read."""

LAST = ("Deployment", "DaemonSet")
"""Kinds that make pods, which start when all else is there."""


@dataclass(frozen=True, slots=True)
class ObservabilityArgs:
    """What is known before the update."""

    plan: Plan
    seen: ObservabilityPlan


class Observability(pulumi.ComponentResource):
    """Watch everything that the stack runs; the number of resources does not grow with hosts."""

    def __init__(self, name: str, args: ObservabilityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("railwright:monitoring:Observability", name, {}, opts)
        self._name = name
        kinds = self._definitions() if _brings_definitions(args.seen) else []
        ground = self._create(observability.ground(args.seen), [])
        programs = observability.programs(args.plan, args.seen)
        pods = {part: manifest for part, manifest in programs.items() if manifest["kind"] in LAST}
        rest = self._create({part: programs[part] for part in programs if part not in pods}, ground)
        running = self._create(pods, [*kinds, *ground, *rest])
        self._create(observability.watch(args.plan, args.seen), running or kinds)
        self.register_outputs({})

    def _create(self, parts: Mapping[str, Manifest], after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        return [create(f"{self._name}-{part}", manifest, opts) for part, manifest in parts.items()]

    def _definitions(self) -> list[pulumi.Resource]:
        # A definition takes all objects of its kind along, those of other stacks too.
        keep = pulumi.ResourceOptions(parent=self, retain_on_delete=True)
        return [create(f"{self._name}-kind-{kind}", manifest, keep) for kind, manifest in read(DEFINITIONS)]


def _brings_definitions(seen: ObservabilityPlan) -> bool:
    return seen.installs and "existing" not in (seen.config.operator, seen.config.definitions)
