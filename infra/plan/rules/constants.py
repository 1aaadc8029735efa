"""What the plan expects, as series: alerts compare with them, so their number does not grow with models and pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.catalog.recordings.slo import TIMED
from infra.catalog.settings import SETTINGS
from infra.plan.facts import ModelPlan, ObservabilityPlan, Plan, PoolPlan

Labels = Mapping[str, str]
Row = tuple[Labels, float]


def constants(plan: Plan, watched: ObservabilityPlan) -> list[dict[str, Any]]:
    """Say as recording rules what the plan says, one for each kind of fact."""
    facts = {
        **_of_pools(plan),
        **_of_models(plan, watched),
        **_of_settings(),
        "metrics:count": _expected(plan, watched),
    }
    return [{"record": f"plan:{name}", "expr": _series(rows)} for name, rows in facts.items()]


def _series(rows: Iterable[Row]) -> str:
    """Write rows as one expression; without any it yields nothing."""
    return " or ".join(_sample(labels, value) for labels, value in rows) or "vector(0) > 0"


def _sample(labels: Labels, value: float) -> str:
    sample = f"vector({value:.10g})"
    for name, text in labels.items():
        sample = f'label_replace({sample}, "{name}", "{text}", "", "")'
    return sample


def _of_pools(plan: Plan) -> dict[str, Iterable[Row]]:
    pools = plan.pools
    return {
        "hosts:count": [({"pool": pool.name}, pool.pool.hosts) for pool in pools],
        "gpus_per_host:count": [({"pool": pool.name}, pool.board.gpus) for pool in pools if pool.board.gpu],
        "rails_per_host:count": [({"pool": pool.name}, pool.rdma_devices) for pool in pools if pool.rdma_devices],
        "gpu_power_watts:limit": [({"pool": pool.name}, pool.board.gpu.power_w) for pool in pools if pool.board.gpu],
        # The lab's clock is that of the machine under it.
        "clock_kept:bool": [({"pool": pool.name}, 1) for pool in pools if not plan.target.simulates_gpus],
    }


def _of_models(plan: Plan, watched: ObservabilityPlan) -> dict[str, Iterable[Row]]:
    promised = [(model, watched.objectives[model.name]) for model in plan.models]
    costs = [
        ({"model": name}, said.usd_per_million_tokens)
        for name, said in watched.objectives.items()
        if said.usd_per_million_tokens
    ]
    return {
        "replicas:count": [
            ({"model": model.name, "pool": model.pool.name}, model.model.replicas) for model in plan.models
        ],
        "startup_seconds:limit": [({"model": model.name}, model.startup.budget) for model in plan.models],
        "errors:limit": [({"model": model.name}, said.errors_above) for model, said in promised],
        "latency_seconds:limit": [({"model": model.name}, said.latency_s) for model, said in promised],
        "first_token_seconds:limit": [({"model": model.name}, said.first_token_s) for model, said in promised],
        "token_seconds:limit": [({"model": model.name}, said.token_s) for model, said in promised],
        "error_budget:ratio": _budgets(watched),
        "slo_edge:bool": _edges(watched),
        "usd_per_hour:sum": _prices(plan, watched),
        "usd_per_million_tokens:limit": costs,
    }


def _budgets(watched: ObservabilityPlan) -> Iterator[Row]:
    for name, said in watched.objectives.items():
        yield {"model": name, "slo": "availability"}, 1 - said.availability
        for row in TIMED:
            yield {"model": name, "slo": row.slo}, 1 - said.share


def _edges(watched: ObservabilityPlan) -> Iterator[Row]:
    """Name the bucket whose edge is the limit; Prometheus 3 writes every edge with a point, older ones as they came."""
    for name, said in watched.objectives.items():
        limits = {"first_token": said.first_token_s, "latency": said.latency_s, "token": said.token_s}
        for row in TIMED:
            edge = limits[row.slo] * row.unit_per_second
            for spelling in dict.fromkeys([f"{edge:.10g}", str(float(edge))]):
                yield {"model": name, "slo": row.slo, "le": spelling}, 1


def _prices(plan: Plan, watched: ObservabilityPlan) -> Iterator[Row]:
    for model in plan.models:
        if price := watched.prices.get(model.pool.name):
            yield {"model": model.name}, price.usd_per_gpu_hour * _paid(model)


def _paid(model: ModelPlan) -> int:
    """GPUs that a model holds, or the hosts it runs on where there are none (count)."""
    if model.pool.board.gpu:
        return model.model.replicas * model.layout.gpus
    return max(1, model.placement.hosts)


def _of_settings() -> dict[str, Iterable[Row]]:
    return {
        "setting:least": [({"setting": row.key}, row.least) for row in SETTINGS],
        "setting:most": [({"setting": row.key}, row.most) for row in SETTINGS if row.most is not None],
    }


def _expected(plan: Plan, watched: ObservabilityPlan) -> Iterator[Row]:
    jobs = set(watched.jobs)
    for pool in plan.pools:
        yield from _of_pool(pool, jobs)
    for model in plan.real_models:
        yield {"metrics": "vllm", "model": model.name}, model.model.replicas
    yield {"metrics": "up", "job": "envoy"}, plan.gateway.gateway.replicas
    # Those of simulated hosts come through the job of the fleet, and engines are counted per model.
    told = {"vllm", "envoy"} | ({"dcgm-exporter"} if plan.target.simulates_gpus else set())
    for job in watched.jobs:
        if job not in told:
            yield {"metrics": "up", "job": job}, 1


def _of_pool(pool: PoolPlan, jobs: set[str]) -> Iterator[Row]:
    if "kube-state-metrics" in jobs:
        yield {"metrics": "hosts", "pool": pool.name}, pool.pool.hosts
    # A simulated host has network cards of the fabric or none at all.
    if "node-exporter" in jobs and (pool.rdma_devices or not pool.simulated):
        yield {"metrics": "node-exporter", "pool": pool.name}, pool.pool.hosts
    if "dcgm-exporter" in jobs and pool.board.gpu:
        yield {"metrics": "dcgm-exporter", "pool": pool.name}, pool.pool.hosts
