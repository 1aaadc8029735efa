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
from infra.plan.speed import Load, Speed, predict
from tests.bench.planner_accuracy.cases import Unjudged, architecture

PUBLISHED = Path(__file__).parent / "data" / "throughput.csv"
"""Figures of TensorRT-LLM with all requests queued, and a few of others; each row has its source."""

MOST_REQUESTS = 2048
"""Requests in one batch at most (count). Source: TensorRT-LLM, max_batch_size."""

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
    speed: Speed

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.speed.tokens_per_s_per_gpu / self.measured - 1

    @property
    def promised(self) -> float:
        """The same at the bad end of the error."""
        return self.speed.tokens_per_s_per_gpu / self.speed.band.high / self.measured - 1


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
    """Yield lines of errors by kind, and each promise that was too high by more than a tenth."""
    for kind in ("dense", "mixture"):
        errors = [one.error for one in found if one.kind == kind]
        inside = [one.error for one in found if one.kind == kind and not one.speed.extrapolated]
        yield (
            f"{kind:44}{len(errors):5d}   median {_size(errors):.1%}, from {min(errors):+.0%} to {max(errors):+.0%}; "
            f"{len(inside)} not extrapolated: median {_size(inside):.1%}"
        )
    for one in found:
        if one.promised > 0.1:
            yield f"  promised {one.promised:+.0%} at the bad end: {one.name}"


def _size(errors: list[float]) -> float:
    return median(abs(error) for error in errors) if errors else 0.0


def _most(row: dict[str, str]) -> Most:
    if row["engine"] != "trtllm" or row["metric"] != "output_tok_s_per_gpu":
        raise Unjudged("batch, lengths or GPU are not told, or several kinds of engines worked together")
    layout = _layout(row["parallelism"])
    form = "mxfp4" if "gpt-oss" in row["model"] else {"fp4": "nvfp4", "fp8": "fp8"}[row["format"]]
    shapes, gpu, engine = architecture(LIKE[row["model"]][form]), GPUS[row["gpu"]], ENGINES["trtllm"][0]
    prompt, output = int(row["prompt"]), int(row["output"])
    options = Options(quantisation=form, kv_dtype="fp8", max_len=prompt + output)
    # Answers are half written on the mean.
    held = size(shapes, layout, gpu, engine, options).concurrency(prompt + output // 2)
    requests = layout.data * int(min(held, MOST_REQUESTS))
    speed = predict(shapes, layout, gpu, engine, form, Load(prompt, output, requests), kv_dtype="fp8")
    name = f"{row['model']} {row['format']} on {row['gpu']}, {row['parallelism']}, {prompt}/{output}"
    kind = "mixture" if any(layer.experts for layer in shapes.layers) else "dense"
    return Most(name, kind, float(row["value"]), speed)


def _layout(said: str) -> Layout:
    """Layout as TensorRT-LLM names it: DEP for data-parallel attention with whole experts, else TP and PP."""
    if match := re.fullmatch(r"DEP(\d+)", said):
        return Layout(1, 1, int(match[1]), expert_parallel=True)
    match = re.fullmatch(r"TP(\d+)(?:PP(\d+))?", said)
    if match is None:
        raise Unjudged(f"parallelism {said!r} is not known")
    return Layout(int(match[1]), int(match[2] or 1))
