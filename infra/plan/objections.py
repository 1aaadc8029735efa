"""Why one replica cannot be run as it is described, each with what to do; nothing when it can."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.quantisations import quantisation
from infra.plan.formats import instead, unfit, unfit_cache
from infra.plan.memory import Memory
from infra.plan.single import Single


def objections(single: Single, memory: Memory, wider: str = "") -> Iterator[str]:
    """Yield what is wrong with formats and limits, then the first thing that the memory cannot hold.

    Args:
        wider: name of a way with more GPUs that would hold it; empty when none is known.
    """
    yield from _formats(single)
    yield from _limits(single)
    yield from _memory(single, memory, f"{wider} would do" if wider else "use more GPUs")


def _formats(single: Single) -> Iterator[str]:
    if single.gpu is None:
        return
    form = quantisation(single.options.quantisation or single.architecture.quantisation or "bf16")
    if why := unfit(form, single.gpu):
        yield f"format {form.name!r} {why}; use a checkpoint in {instead(form, single.gpu)}"
    if why := unfit_cache(single.options.kv_dtype, single.gpu):
        yield f"format {single.options.kv_dtype!r} {why}; leave it out"


def _limits(single: Single) -> Iterator[str]:
    settings, gpu, most = single.settings, single.gpu, single.architecture.max_context
    if settings.length > most:
        yield f"a longest request of {settings.length:,} tokens, the model was trained for {most:,}; set it to that"
    if settings.seqs > settings.tokens and single.engine.name == "vllm":
        # vllm 0.32.0 config/scheduler.py stops at the start.
        yield (
            f"{settings.seqs:,} requests in a batch of {settings.tokens:,} tokens, vllm wants a token for each; "
            "lower the requests or raise the tokens"
        )
    near = max(gpu.nvlink_domain, gpu.per_host) if gpu else single.layout.tensor
    if gpu and single.layout.tensor > near:
        yield (
            f"tensor parallel {single.layout.tensor}, {near} {gpu.name} share a host or an NVLink domain; "
            f"set it to {near} or lower, and give the rest to pipeline stages"
        )


def _memory(single: Single, memory: Memory, more: str) -> Iterator[str]:
    asked = single.settings.length
    longest = memory.longest(min(asked, single.architecture.max_context))
    if memory.kv_pool <= 0:
        yield f"weights and activation take all the memory; {more}, or use a smaller format"
    elif longest < min(asked, single.architecture.max_context):
        fix = f"set the longest request to {longest:,} or lower, or {more}" if longest else more
        yield f"one request of {asked:,} tokens does not fit into the cache; {fix}"
    elif memory.headroom < memory.margin:
        yield "too little stays free for what the engine does not count; lower its share of memory"
