"""RW-102: the ranks of an engine are as many as its GPUs, and the model's shapes can be dealt to them."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.architecture import Architecture
from policies.engine import Engine, engines
from policies.field import Field, Finding, settle
from policies.formats import format_of
from policies.resource import POD_TYPES, Resource

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-102", "critical", POD_TYPES, False
TITLE = "the ranks of an engine fit its GPUs and the shapes of its model"
REMEDIATION = (
    "set --tensor-parallel-size to a number that divides the attention heads, and divides or is a multiple of the "
    "key/value heads; ask for as many GPUs as there are ranks; with FP8 blocks turn expert parallelism on"
)


def check(resource: Resource) -> Iterator[Finding]:
    """Yield a finding for each engine that would refuse its own command line."""

    def judge(_: Field) -> Iterator[Finding]:
        for engine in engines(resource):
            yield from _ranks(engine)
            if architecture := engine.architecture:
                yield from _shapes(engine, architecture)

    yield from settle(judge, resource.inputs)


def _ranks(engine: Engine) -> Iterator[Finding]:
    gpus = engine.gpus * engine.pods
    if gpus and engine.ranks > gpus:
        yield _fail(engine, f"{engine.ranks} ranks share one copy of the weights, its pods have {gpus} GPUs")


def _shapes(engine: Engine, architecture: Architecture) -> Iterator[Finding]:
    ranks, heads, kv_heads = engine.tensor, architecture.heads, architecture.kv_heads
    if heads % ranks or (kv_heads % ranks and ranks % kv_heads):
        deals = [n for n in range(1, heads + 1) if heads % n == 0 and (kv_heads % n == 0 or n % kv_heads == 0)]
        found = f"{heads} attention heads and {kv_heads} key/value heads cannot be dealt to {ranks} ranks"
        yield _fail(engine, f"{found} ({', '.join(map(str, deals))} can)")
        return
    form = format_of(engine)
    if form is None or form.tile == 1:
        return
    for width in sorted(_widths(architecture, is_whole="--enable-expert-parallel" in engine.flags)):
        if width % ranks or width // ranks % form.tile:
            found = f"layers {width} wide leave {width / ranks:g} on each of {ranks} ranks, {form.name} needs multiples"
            yield _fail(engine, f"{found} of {form.tile}")


def _widths(architecture: Architecture, *, is_whole: bool) -> set[int]:
    """Inner widths of feed-forward layers that ranks share; with expert parallelism a rank holds experts whole."""
    return {
        tensor.columns
        for layer in {id(layer): layer for layer in architecture.layers}.values()
        for tensor in layer.tensors
        if tensor.name.endswith("down_proj") and not (is_whole and tensor.part == "expert")
    }


def _fail(engine: Engine, found: str) -> Finding:
    return Finding("fail", engine.container["args"].path, f"{found}; the engine would refuse to start")
