"""Number formats: which a GPU runs without loss of speed, and which the user's own scores allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra.catalog.architecture import Architecture
from infra.catalog.gpus import Gpu
from infra.catalog.origins import PUBLISHED
from infra.catalog.quantisations import QUANTISATIONS, Quantisation
from infra.config.evidence import Evidence
from infra.config.models import Model

AT_LOAD = ("fp8",)
"""Formats that the engine makes of a larger checkpoint while it loads. Source: vllm 0.32.0, quantization/fp8.py."""

CACHE_LEAST = {"fp8": (8, 9), "fp8_e4m3": (8, 9), "fp8_e5m2": (8, 9), "nvfp4": (10, 0)}
"""Least compute capability by format of cached keys and values. Source: vllm 0.32.0 config/cache.py and attention
backends; fp8 below 8.9 has only a slow path, vllm#43562 for nvfp4."""

CACHE_MOST = {"nvfp4": (10, 99)}
"""Largest compute capability where there is one. Source: vllm#43562, refused on 12.0."""


@dataclass(frozen=True, slots=True)
class Format:
    """How weights and cached keys and values are written."""

    weights: str
    cache: str = "auto"

    def __str__(self) -> str:
        return self.weights if self.cache == "auto" else f"{self.weights} with {self.cache} cache"


def format_of(model: Model, architecture: Architecture) -> Format:
    """Format that a model is served in: what the spec says, else that of the checkpoint."""
    return Format(model.quantisation or _published(architecture), model.kv_cache_dtype)


def made_at_load(model: Model, architecture: Architecture) -> bool:
    """Whether the engine has to be told to make the format, as the checkpoint is in a larger one."""
    return not architecture.quantisation and model.quantisation in AT_LOAD


def unfit(form: Quantisation, gpu: Gpu) -> str:
    """Why a GPU should not run a format of weights; empty when it may."""
    if gpu.capability < form.least:
        return f"needs compute capability {_dotted(form.least)}, {gpu.name} has {gpu.compute_capability}"
    if gpu.capability > form.native[1] and not form.fallback:
        last = _dotted(form.native[1])
        return f"has no kernel above compute capability {last}, {gpu.name} has {gpu.compute_capability}"
    if "int8" in form.name and gpu.peaks.int8_tops < gpu.peaks.bf16_tflops:
        return f"is slower than what it replaces: {gpu.name} has {gpu.peaks.int8_tops:g} TOPS of INT8"
    return ""


def unfit_cache(name: str, gpu: Gpu) -> str:
    """Why a GPU should not run a format of cached keys and values; empty when it may."""
    least, most = CACHE_LEAST.get(name, (0, 0)), CACHE_MOST.get(name, (99, 0))
    if least <= gpu.capability <= most:
        return ""
    needs = f"{_dotted(least)} to {most[0]}.x" if name in CACHE_MOST else f"{_dotted(least)} or more"
    return f"as a cache needs compute capability {needs}, {gpu.name} has {gpu.compute_capability}"


def instead(form: Quantisation, gpu: Gpu) -> str:
    """Name the format nearest in size that this GPU computes in."""
    runs = [row for row in QUANTISATIONS.values() if row.name in _SERVED and row.is_native(gpu.capability)]
    fits = [row for row in runs if not unfit(row, gpu) and row.bits <= form.bits] or runs
    return max(fits, key=lambda row: (row.bits, row.needs_evidence)).name


def needs_evidence(form: Format, architecture: Architecture) -> bool:
    """Whether a format may cost accuracy that nobody but the user can judge."""
    is_published = form.weights in PUBLISHED.get(architecture.family, ())
    small_weights = QUANTISATIONS[form.weights].needs_evidence and not is_published
    return small_weights or form.cache != "auto"


def scores(form: Format, checkpoint: str, evidence: Iterable[Evidence]) -> list[Evidence]:
    """Scores of one format of one checkpoint, the last of each task; of one day, the worst."""
    fits = [
        score
        for score in evidence
        if (score.checkpoint, score.quantisation, score.kv_cache_dtype) == (checkpoint, form.weights, form.cache)
    ]
    return list({score.task: score for score in sorted(fits, key=lambda score: (score.date, score.loss))}.values())


def allowed(architecture: Architecture, evidence: Iterable[Evidence], gpu: Gpu) -> Iterator[Format]:
    """Yield the formats that a GPU runs and that need no scores or have good ones, the checkpoint's own first."""
    own = Format(_published(architecture))
    evidence = tuple(evidence)
    scored = {Format(score.quantisation, score.kv_cache_dtype) for score in evidence}
    for form in dict.fromkeys((own, *sorted(scored, key=str))):
        # Nothing is made of a checkpoint that is in a small format already.
        if form.weights != own.weights and architecture.quantisation:
            continue
        if unfit(QUANTISATIONS[form.weights], gpu) or unfit_cache(form.cache, gpu):
            continue
        found = scores(form, architecture.name, evidence)
        if not needs_evidence(form, architecture) or (found and all(score.holds for score in found)):
            yield form


_SERVED = ("bf16", "fp8", "w8a8-int8", "w4a16", "nvfp4")
"""Formats that are worth naming to whoever needs another one."""


def _published(architecture: Architecture) -> str:
    return architecture.quantisation or "bf16"


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
