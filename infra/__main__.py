"""The Pulumi program: read the spec, plan it, refuse it or declare it; all thinking is elsewhere."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from infra.components.gateway import GatewayArgs, GatewayService
from infra.components.gpu_pool import GpuPool, GpuPoolArgs
from infra.components.model_service import ModelService, ModelServiceArgs
from infra.components.objects import create
from infra.config.load import from_pulumi, kubeconfig_path, pulumi_config
from infra.plan.build import accepted
from infra.plan.manifests.cluster import namespaces
from infra.plan.outputs import outputs
from infra.targets.choice import target_of


def main() -> None:
    """Declare the whole stack."""
    spec = from_pulumi(pulumi.get_stack(), pulumi_config())
    plan = accepted(spec)
    target, path = target_of(plan), str(kubeconfig_path(spec))
    cluster = k8s.Provider("cluster", kubeconfig=path, cluster_identifier=plan.cluster)
    opts = pulumi.ResourceOptions(provider=cluster)
    once = {**namespaces(plan), **target.cluster_objects(plan)}
    base: list[pulumi.Resource] = [create(name, manifest, opts) for name, manifest in once.items()]
    for pool in plan.pools:
        args = GpuPoolArgs(pool, target.pool_objects(pool), target.host_patches(pool))
        base.append(GpuPool(f"pool-{pool.name}", args, opts))
    ready = pulumi.ResourceOptions(provider=cluster, depends_on=base)
    for model in plan.models:
        ModelService(f"model-{model.name}", ModelServiceArgs(model), ready)
    GatewayService("gateway", GatewayArgs(plan, spec.key_values), ready)
    for name, value in outputs(plan).items():
        pulumi.export(name, value)


main()
