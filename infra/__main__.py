"""The Pulumi program: read the spec, plan it, refuse it or declare it; all thinking is elsewhere."""

from __future__ import annotations

import pulumi

from infra.components.archives import gather
from infra.components.gateway import GatewayArgs, GatewayService
from infra.components.ground import Footing
from infra.components.hosts import hosts
from infra.components.model_service import ModelService, ModelServiceArgs
from infra.components.observability import Observability, ObservabilityArgs
from infra.config.load import clone_root, from_pulumi, kubeconfig_path, pulumi_config
from infra.plan.build import accepted
from infra.plan.installed import installed
from infra.plan.manifests.cluster import callers, shared
from infra.plan.outputs import outputs
from infra.targets.choice import target_of


def main() -> None:
    """Declare the whole stack."""
    plan = accepted(spec := from_pulumi(pulumi.get_stack(), pulumi_config()))
    gather(installed(plan), clone_root())
    target = target_of(plan)
    footing = Footing(plan.cluster, target.ground(plan), lambda: kubeconfig_path(spec))
    once = {**shared(plan), **target.cluster_objects(plan)}
    pools = [(target.pool_resources(plan, p), target.pool_objects(p), target.host_patches(p)) for p in plan.pools]
    ready = hosts(plan, once, pools, footing)
    for model in plan.models:
        ModelService(f"model-{model.name}", ModelServiceArgs(model, callers(plan)), ready)
    GatewayService("gateway", GatewayArgs(plan, spec.key_values), ready)
    if plan.observability:
        Observability("observability", ObservabilityArgs(plan, plan.observability), ready)
    for name, value in outputs(plan).items():
        pulumi.export(name, value)


main()
