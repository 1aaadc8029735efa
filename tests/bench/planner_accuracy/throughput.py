"""How right the most tokens per second of a GPU are: published figures that nothing was fitted to."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from infra.catalog.engines import ENGINES
from infra.catalog.gpus import GPUS
from infra.errors import ConfigError, Unknown
from infra.plan.layout import Layout
from infra.plan.memory import Options, size
from infra.plan.speed import Load, Speed, predictor
from tests.bench.planner_accuracy.cases import Unjudged, architecture

PUBLISHED = Path(__file__).parent / "data" / "throughput.csv"
"""Figures of TensorRT-LLM with all requests queued, and a few of others; each row has its source."""

MOST_REQUESTS = 2048
"""Requests in one batch at most (count). Source: TensorRT-LLM, max_batch_size."""

QUEUED = {(1000, 1000): 3000, (1024, 1024): 3000, (8192, 1024): 1500, (1024, 8192): 1500, (32768, 1024): 1000,
          (1024, 32768): 1000}  # fmt: skip
"""Lengths of prompt and answer → requests of a whole run (count). Source: TensorRT-LLM perf-overview @03e27c7,
"Preparing a dataset"; 1000/1000, which is not in it, is taken for 1024/1024."""

OVER = 0.10
"""What is counted on may lie above what was measured by this (share)."""

LIKE = {
    "DeepSeek-R1-0528": {"nvfp4": "nvidia/DeepSeek-V3.1-NVFP4"},
    "gpt-oss-120b": {"mxfp4": "openai/gpt-oss-120b"},
    "gpt-oss-20b": {"mxfp4": "openai/gpt-oss-20b"},
    "Llama-3.3-70B": dict.fromkeys(("nvfp4", "fp8"), "meta-llama/Meta-Llama-3.1-70B"),
    "Llama-4-Maverick": dict.fromkeys(("nvfp4", "fp8"), "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
    "Qwen3-235B-A22B": {"nvfp4": "nvidia/Qwen3-235B-A22B-NVFP4", "fp8": "Qwen/Qwen3-235B-A22B"},
    "Qwen3-30B-A3B": {"nvfp4": "Qwen/Qwen3-30B-A3B"},
}
"""Published name → format → checkpoint of the same shapes."""


@dataclass(frozen=True, slots=True)
class Most:
    """One published figure with what is predicted at the largest batch that memory holds."""

    name: str
    kind: str
    measured: float
    """Tokens of answers per second and GPU."""
    predicted: float
    """The same."""
    speed: Speed
    """Of a full batch."""

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1

    @property
    def promised(self) -> float:
        """The same of what a plan counts on."""
        return self.predicted * self.speed.promise / self.measured - 1


def figures() -> tuple[list[Most], dict[str, int]]:
    """Read all figures: those that can be judged, and how many cannot by reason."""
    found: list[Most] = []
    refused: dict[str, int] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                found.append(_most(row))
            except (Unjudged, ConfigError, Unknown) as error:
                refused[str(error)] = refused.get(str(error), 0) + 1
    return found, refused


def table(found: list[Most]) -> Iterator[str]:
    """Yield lines of errors by kind."""
    for kind in ("dense", "mixture"):
        errors = [one.error for one in found if one.kind == kind]
        inside = [one.error for one in found if one.kind == kind and not one.speed.extrapolated]
        yield (
            f"{kind:44}{len(errors):5d}   median {_size(errors):.1%}, from {min(errors):+.0%} to {max(errors):+.0%}; "
            f"{len(inside)} not extrapolated: median {_size(inside):.1%}"
        )


def verdict(found: list[Most]) -> tuple[bool, str]:
    """Whether no more is counted on than was measured, and which figure comes nearest to it."""
    worst = max(found, key=lambda one: one.promised)
    return (
        worst.promised <= OVER,
        f"most tokens per second, counted on above measured: {sum(one.promised > OVER for one in found)} of "
        f"{len(found)} figures by more than {OVER:.0%}; the worst {worst.promised:+.0%}, {worst.name}",
    )


def _size(errors: list[float]) -> float:
    return median(abs(error) for error in errors) if errors else 0.0


def _most(row: dict[str, str]) -> Most:
    if row["engine"] != "trtllm" or row["metric"] != "output_tok_s_per_gpu":
        raise Unjudged("batch, lengths or GPU are not told, or several kinds of engines worked together")
    layout = _layout(row["parallelism"])
    form = "mxfp4" if "gpt-oss" in row["model"] else {"fp4": "nvfp4", "fp8": "fp8"}[row["format"]]
    shapes, gpu, engine = architecture(LIKE[row["model"]][form]), GPUS[row["gpu"]], ENGINES["trtllm"][0]
    prompt, output = int(row["prompt"]), int(row["output"])
    kv_dtype = "auto" if form == "mxfp4" and gpu.capability < (10, 0) else "fp8"
    # The engine lets in what it can hold to the end (its capacity scheduler's GUARANTEED_NO_EVICT).
    options = Options(quantisation=form, kv_dtype=kv_dtype, max_len=prompt + output)
    held = size(shapes, layout, gpu, engine, options).concurrency(prompt + output)
    batch, queued = layout.data * int(min(held, MOST_REQUESTS)), QUEUED[prompt, output]
    at = predictor(shapes, layout, gpu, engine, form, kv_dtype=kv_dtype)
    loads = [Load(prompt, output, requests) for requests in _rounds(queued, batch)]
    seconds = sum(load.concurrency * output / at(load).tokens_per_s for load in loads)
    name = f"{row['model']} {row['format']} on {row['gpu']}, {row['parallelism']}, {prompt}/{output}"
    kind = "mixture" if any(layer.experts for layer in shapes.layers) else "dense"
    return Most(name, kind, float(row["value"]), queued * output / seconds / layout.gpus, at(loads[0]))


def _rounds(queued: int, batch: int) -> list[int]:
    """Requests at a time: as many as fit until the queue is empty, then what is left of them."""
    full, rest = divmod(queued, batch)
    return [batch] * full + [rest] * bool(rest)


def _layout(said: str) -> Layout:
    """Layout as TensorRT-LLM names it: DEP for data-parallel attention with whole experts, else TP and PP."""
    if match := re.fullmatch(r"DEP(\d+)", said):
        return Layout(1, 1, int(match[1]), expert_parallel=True)
    match = re.fullmatch(r"TP(\d+)(?:PP(\d+))?", said)
    if match is None:
        raise Unjudged(f"parallelism {said!r} is not known")
    return Layout(int(match[1]), int(match[2] or 1))
