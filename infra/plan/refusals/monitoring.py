"""RW-301, 402, 501, 601 and 602: monitoring that watches nothing, forgets too soon or judges by what it cannot see."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from infra.catalog.histograms import EDGES
from infra.catalog.metrics.envoy import GATEWAY_EDGES_MS
from infra.catalog.monitoring import PUBLISHED
from infra.plan.facts import ModelPlan, ObservabilityPlan, Plan, Refusal
from infra.plan.refusals.wiring import check_image
from infra.units import GIB, duration, gib

SAMPLE_BYTES = 1
"""Least that a stored sample takes (bytes). Source: Prometheus, Storage: on average 1 to 2 bytes."""

USABLE = 0.8
"""Share of the storage that blocks may fill; the rest is for the write-ahead log and for compaction."""

HOST_SERIES = 1_500
"""Series of one host, its kubelet and its pods (count); what a host of the lab has, rounded down."""

SIMULATED_HOST_SERIES = 100
"""Series of one simulated host (count); as above."""

GPU_SERIES = 20
"""Series of one GPU by dcgm-exporter (count); as above."""

REPLICA_SERIES = 400
"""Series of one engine (count); as above."""

BUCKETS_FLAG = "--custom-histogram-buckets"
"""Argument of an engine that has edges of its own. Source: vLLM's argument parser."""

_AT_THE_GATEWAY = ("latency_s", "first_token_s")
"""Promises that are kept, or not, as clients see them."""


def check(plan: Plan, *, lock: str, has_lock: bool) -> Iterator[Refusal]:
    """Yield what cannot work in the monitoring of a plan."""
    seen = plan.observability
    if seen is None:
        return
    for part, image in seen.images.items():
        yield from check_image(image, f"observability.images.{part}", lock=lock, has_lock=has_lock)
    yield from _unknown(plan, seen)
    yield from _ports(plan, seen)
    if seen.installs and seen.config.storage:
        yield from _storage(plan, seen, seen.config.storage.size_gib)
    # A limit of the whole stack is told once, however many models have it.
    yield from dict.fromkeys(refusal for model in plan.models for refusal in _limits(model, seen))


def storage_bytes(size_gib: float) -> int:
    """How much of the storage samples may fill (bytes)."""
    return round(size_gib * GIB * USABLE)


def series(plan: Plan) -> int:
    """Least number of series that a plan comes to (count)."""
    real = [pool for pool in plan.pools if not pool.simulated]
    hosts = sum(pool.pool.hosts for pool in real) * HOST_SERIES + sum(pool.gpus for pool in real) * GPU_SERIES
    simulated = sum(pool.pool.hosts for pool in plan.pools if pool.simulated) * SIMULATED_HOST_SERIES
    replicas = sum(model.model.replicas for model in plan.real_models) * REPLICA_SERIES
    return hosts + simulated + replicas


def _storage(plan: Plan, seen: ObservabilityPlan, size_gib: float) -> Iterator[Refusal]:
    a_second = series(plan) / seen.scrape_interval * SAMPLE_BYTES
    if a_second * seen.retention > storage_bytes(size_gib):
        held = storage_bytes(size_gib) / a_second
        need = a_second * seen.retention / USABLE
        found = (
            f"{gib(size_gib * GIB)}, {series(plan):,} series every {seen.scrape_interval} s fill it in "
            f"{duration(held)}, and observability.retention is {duration(seen.retention)}"
        )
        fix = f"raise it to {-(-need // GIB):.0f}, or lower observability.retention to {max(1, int(held // 3600))}h"
        yield Refusal("RW-601", "observability.storage.size_gib", found, fix)


def _limits(model: ModelPlan, seen: ObservabilityPlan) -> Iterator[Refusal]:
    """Yield limits between two edges of the histogram that judges them."""
    at_gateway = tuple(edge / 1000 for edge in GATEWAY_EDGES_MS)
    for key in _AT_THE_GATEWAY:
        yield from _limit(model, seen, key, at_gateway, "the gateway", "set one of these")
    engine, flag = model.model.engine, f"models.{model.name}.engine_args {BUCKETS_FLAG}"
    if not any(arg.startswith(BUCKETS_FLAG) for arg in model.model.engine_args):
        fix = f"set one of these, or give {flag} with this edge"
        yield from _limit(model, seen, "token_s", EDGES[engine]["token"], engine, fix)


def _limit(
    model: ModelPlan, seen: ObservabilityPlan, key: str, edges: Sequence[float], judge: str, fix: str
) -> Iterator[Refusal]:
    value, own = getattr(seen.objectives[model.name], key), seen.config.models.get(model.name)
    if value in edges:
        return
    near = sorted(sorted(edges, key=lambda edge: abs(edge - value))[:2])
    where = f"models.{model.name}" if own and getattr(own, key) is not None else "slo"
    found = f"{value:g} s, which the buckets of {judge} cannot tell from {near[0]:g} or {near[1]:g} s"
    yield Refusal("RW-602", f"observability.{where}.{key}", found, fix)


def _unknown(plan: Plan, seen: ObservabilityPlan) -> Iterator[Refusal]:
    """Yield names that nobody has."""
    for name in seen.config.models:
        if name not in seen.objectives:
            yield _no_such(f"observability.models.{name}", name, "model of this stack", list(seen.objectives))
    for part in seen.config.images:
        if part not in PUBLISHED:
            yield _no_such(f"observability.images.{part}", part, "part of monitoring", list(PUBLISHED))
    offered = [scrape.job for scrape in plan.target.scrapes if scrape.on_request]
    for job in seen.config.also:
        if job not in offered:
            yield _no_such("observability.also", job, f"job that target {plan.target.name!r} has on request", offered)


def _no_such(key: str, word: str, kind: str, known: list[str]) -> Refusal:
    close = difflib.get_close_matches(word, known, n=1)
    fix = f"did you mean {close[0]!r}?" if close else f"remove it; there are: {', '.join(known) or 'none'}"
    return Refusal("RW-301", key, f"{word!r} is no {kind}", fix)


def _ports(plan: Plan, seen: ObservabilityPlan) -> Iterator[Refusal]:
    """Yield a host's port that two Services would own."""
    owners = {plan.gateway.gateway.node_port: "gateway.node_port"} if plan.gateway.gateway.node_port else {}
    for name in ("prometheus", "alertmanager"):
        port, key = getattr(seen.config, name).node_port, f"observability.{name}.node_port"
        if port and (owner := owners.setdefault(port, key)) != key:
            yield Refusal("RW-501", key, f"{port}, which {owner} has already", "choose another from 30000 to 32767")
