"""RW-201, 301 and 501: what the GPU Operator cannot do, would do to others' things, or would cut short."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.mig import DISABLED, profiles_of
from infra.config.mistakes import nearest
from infra.plan.fabric.policies import served
from infra.plan.facts import Plan, PoolPlan, Refusal
from infra.plan.gpu_operator.values import longest_grace, operated, pod_deadline


def check(plan: Plan) -> Iterator[Refusal]:
    """Yield all that is wrong with what the operator is told; nothing where it is not installed."""
    for pool in plan.pools:
        yield from _pool(plan, pool)
    if not plan.gpu_operator.installs:
        seen = plan.observability
        if plan.gpu_operator.brought == "none" and seen and seen.config.gpu_exporter == "operator":
            found = "operator, and nobody brings the GPU Operator (gpu_operator.operator: none)"
            yield Refusal("RW-301", "observability.gpu_exporter", found, "set it to install")
        return
    yield from _second_nfd(plan)
    grace, deadline = longest_grace(plan), pod_deadline(plan)
    if deadline < grace and any(model.pool in operated(plan) for model in plan.models):
        found = f"{deadline}s, an engine's grace is {grace}s: an upgrade would give up on it, or cut its answers"
        yield Refusal("RW-201", "gpu_operator.upgrade.pod_deadline", found, "leave it out, or raise it")


def _second_nfd(plan: Plan) -> Iterator[Refusal]:
    """Yield a Network Operator that is there: it brings NFD unless it was told not to."""
    there = plan.fabric.operator == "existing" and served(plan)
    if there and "nfd" not in plan.gpu_operator.config.model_fields_set and not plan.target.simulates_gpus:
        found = "left out, and the Network Operator that is there (fabric.operator) brings an NFD unless told not to"
        fix = "set it to existing, or to install if `kubectl get daemonset -A` shows no nfd-worker"
        yield Refusal("RW-501", "gpu_operator.nfd", found, fix, is_unknown=True)


def _pool(plan: Plan, pool: PoolPlan) -> Iterator[Refusal]:
    said, key, gpu = pool.pool.gpu_operator, f"pools.{pool.name}.gpu_operator", pool.board.gpu
    if said.mig == DISABLED:
        return
    profiles = profiles_of(gpu.name) if gpu else ()
    if said.mig not in profiles:
        where = f"{gpu.product} of pool {pool.name!r}" if gpu else f"pool {pool.name!r}, which has no GPUs"
        yield Refusal("RW-301", f"{key}.mig", f"{said.mig!r} is no profile of {where}", nearest(said.mig, [*profiles]))
    if not said.operated or not plan.gpu_operator.installs:
        found = f"{said.mig!r}, and nobody on its hosts would split the GPUs"
        yield Refusal("RW-301", f"{key}.mig", found, "drop it, or let the operator work there")
    if models := sorted(model.name for model in plan.models if model.pool.name == pool.name):
        found = f"{said.mig!r}, and models {', '.join(models)} are planned on whole GPUs there"
        yield Refusal("RW-301", f"{key}.mig", found, "drop it, or give those models another pool")
