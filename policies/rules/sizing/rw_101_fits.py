"""RW-101: the GPUs of a replica hold its weights and one request of the longest length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.catalog.architecture import Architecture
from infra.catalog.gpus import Gpu
from infra.units import GIB, gib
from policies.engine import Engine, engines
from policies.field import Field, Finding, settle
from policies.formats import weights_of
from policies.hosts import gpus_of
from policies.resource import POD_TYPES, Resource, annotation

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-101", "critical", POD_TYPES, True
TITLE = "a replica's GPUs hold its weights and one longest request"
REMEDIATION = "ask for more GPUs with --tensor-parallel-size, lower --max-model-len, or choose a pool with larger GPUs"

UTILISATION = 0.92
"""Share of a GPU that vLLM takes where no flag says. Source: vllm 0.32.0 config/cache.py."""
CACHE_BYTES = {"auto": 2.0, "bfloat16": 2.0, "nvfp4": 0.5625}
"""Bytes of a cached value by --kv-cache-dtype; the others are of one byte. Source: vllm 0.32.0 config/cache.py."""


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each engine that cannot start; what else takes memory is left out, so each is certain."""

    def judge(_: Field) -> Iterator[Finding]:
        for engine in engines(resource):
            for gpu in gpus_of(engine.pod, stack):
                yield from _engine(engine, gpu)

    yield from settle(judge, resource.inputs)


def _engine(engine: Engine, gpu: Gpu) -> Iterator[Finding]:
    weights, gpus = _weights(engine), engine.gpus * engine.pods
    if not weights or not gpus:
        return
    share = engine.share("--gpu-memory-utilization", UTILISATION)
    usable = gpus * gpu.memory_torch_gib * GIB * share
    args = engine.container["args"].path
    if weights >= usable:
        found = f"{gib(weights)} of weights on {gpus} x {gpu.name}, of which the engine may use {gib(usable)}"
        yield Finding("fail", args, f"{found}; it would end with an out-of-memory error at start")
        return
    per_token, longest = _token_bytes(engine), engine.longest
    if per_token and longest * per_token > usable - weights:
        fits = int((usable - weights) / per_token)
        found = f"one request of {longest} tokens takes {gib(longest * per_token)} on {gpus} x {gpu.name}"
        left = f"the weights leave {gib(usable - weights)}"
        yield Finding("fail", args, f"{found}, {left}; {fits} tokens are the most that could fit")


def _weights(engine: Engine) -> float:
    """Weights of all ranks together, as stated or as counted; 0 when nobody knows (bytes)."""
    if (stated := annotation(engine.pod, "weights-gib").number()) is not None:
        return stated * GIB
    return weights_of(engine) if engine.architecture else 0.0


def _token_bytes(engine: Engine) -> float:
    """Cache that one more token takes on all ranks together, without the copies that they make (bytes)."""
    architecture: Architecture | None = engine.architecture
    if architecture is None:
        return 0.0
    name = engine.flags.get("--kv-cache-dtype", "auto")
    kept = (cache for layer in architecture.layers for cache in layer.caches if cache.kind in ("full", "latent"))
    values = sum(max(1, cache.kv_heads) * (cache.key_dim + cache.value_dim) / cache.compress for cache in kept)
    return values * CACHE_BYTES.get(name, 1.0)
