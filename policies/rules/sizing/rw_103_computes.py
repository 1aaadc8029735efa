"""RW-103: a GPU computes in the format it is given, and a small format has a score on the user's own task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.catalog.gpus import Gpu
from infra.catalog.quantisations import Quantisation
from policies.engine import Engine, engines
from policies.field import Field, Finding, settle
from policies.formats import cache_format, format_of, is_published
from policies.hosts import gpus_of
from policies.resource import POD_TYPES, Resource, annotation

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-103", "critical", POD_TYPES, True
TITLE = "a number format runs on its GPU, and what it costs in accuracy was measured"
REMEDIATION = (
    "use a format that the GPU computes in (FP8 from 8.9 on, FP4 from 10.0 on, INT8 up to 9.0), and write the score "
    "of your own task into the annotation railwright.dev/evidence"
)

EVIDENCE_CHARS = 10
"""Shortest text that can name a task and its score (characters)."""


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each format that its GPU cannot run, and for each that nobody has measured."""

    def judge(_: Field) -> Iterator[Finding]:
        for engine in engines(resource):
            form = format_of(engine)
            yield from _measured(engine, form)
            if form:
                for gpu in gpus_of(engine.pod, stack):
                    yield from _runs(engine, form, gpu)

    yield from settle(judge, resource.inputs)


def _measured(engine: Engine, form: Quantisation | None) -> Iterator[Finding]:
    small = [form.name] if form and form.needs_evidence and not is_published(form, engine.architecture) else []
    if cache_format(engine) not in ("auto", "bfloat16"):
        small.append(f"{cache_format(engine)} cache")
    stated = annotation(engine.pod, "evidence")
    if small and len(str(stated.known() or "").strip()) < EVIDENCE_CHARS:
        found = f"{' and '.join(small)} without a score: nobody knows what it costs in accuracy"
        yield Finding("fail", stated.path, found)


def _runs(engine: Engine, form: Quantisation, gpu: Gpu) -> Iterator[Finding]:
    args = engine.container["args"].path
    least, last = (".".join(map(str, edge)) for edge in (form.least, form.native[1]))
    if gpu.capability < form.least:
        found = f"{form.name} needs compute capability {least}, {gpu.name} has {gpu.compute_capability}"
        yield Finding("fail", args, f"{found}; the engine would refuse it")
    elif gpu.capability > form.native[1] and not form.fallback:
        found = f"{form.name} has no kernel above compute capability {last}, {gpu.name} has {gpu.compute_capability}"
        yield Finding("fail", args, f"{found}; it would not start, or run slower than what it replaces")
