"""The Pulumi program: read the spec, plan it, refuse it or declare it; all thinking is elsewhere."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from infra.components.gateway import GatewayArgs, GatewayService
from infra.components.gpu_pool import GpuPoolArgs
from infra.components.ground import ground
from infra.components.model_service import ModelService, ModelServiceArgs
from infra.components.observability import Observability, ObservabilityArgs
from infra.config.load import from_pulumi, kubeconfig_path, pulumi_config
from infra.plan.build import accepted
from infra.plan.manifests.cluster import callers, shared
from infra.plan.outputs import outputs
from infra.targets.choice import target_of


def main() -> None:
    """Declare the whole stack."""
    plan = accepted(spec := from_pulumi(pulumi.get_stack(), pulumi_config()))
    target, path = target_of(plan), str(kubeconfig_path(spec))
    opts = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=path, cluster_identifier=plan.cluster))
    once = {**shared(plan), **target.cluster_objects(plan)}
    pools = [
        GpuPoolArgs(pool, target.pool_resources(plan, pool), target.pool_objects(pool), target.host_patches(pool))
        for pool in plan.pools
    ]
    ready = ground(plan, once, pools, opts)
    for model in plan.models:
        ModelService(f"model-{model.name}", ModelServiceArgs(model, callers(plan)), ready)
    GatewayService("gateway", GatewayArgs(plan, spec.key_values), ready)
    if plan.observability:
        Observability("observability", ObservabilityArgs(plan, plan.observability), ready)
    for name, value in outputs(plan).items():
        pulumi.export(name, value)


main()
