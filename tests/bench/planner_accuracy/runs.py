"""Measured runs turned into what the planner takes, or into the reason why they cannot be judged."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.catalog.architecture import Architecture
from infra.catalog.efficiencies import Kind
from infra.catalog.engines import ENGINES, Engine, engine_for
from infra.catalog.gpus import GPUS, Gpu
from infra.catalog.quantisations import quantisation
from infra.plan.layout import Layout, problems
from infra.plan.memory import Options, size
from infra.plan.speed.costs import Costs, Model
from infra.plan.speed.prediction import costs_of, requests_of
from infra.plan.speed.result import Load
from infra.plan.speed.shares import Machine
from tests.bench.planner_accuracy.cases import Unjudged, architecture

RUNS = Path(__file__).parent / "data" / "silicon.csv"
"""See ``silicon.md`` beside it."""

REFUSED = "refused although it ran"
"""Reason for runs whose layout the planner says cannot be."""

CONTRADICTED = "contradicted: each request far slower than in the same run with more of them"
"""Reason for runs that another row of the same benchmark does not agree with."""

SLOWER = 0.8
"""Speed of a request below this share of its speed among more requests is no property of the engine (share)."""

VERSION = re.compile(r"(\d+)\.(\d+)\.")
"""Major and minor number of an engine."""

QUEUE_S = 50
"""First tokens that come later are those of requests that waited for others to end (seconds)."""

DRAWN = 0.9
"""Mean share of the nominal lengths in InferenceX runs. Source: silicon.md."""

LIKE = {
    "MiniMaxAI/MiniMax-M2.5": "MiniMaxAI/MiniMax-M2.5",
    "Qwen/Qwen3-235B-A22B-FP8": "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen/Qwen3-32B": "Qwen/Qwen3-32B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen/Qwen3-32B",
    "Qwen/Qwen3.5-397B-A17B": "Qwen/Qwen3.5-397B-A17B",
    "deepseek-ai/DeepSeek-R1": "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-V3": "deepseek-ai/DeepSeek-R1",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-ai/DeepSeek-R1",
    "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-ai/DeepSeek-R1",
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Meta-Llama-3.1-8B",
    "moonshotai/Kimi-K2.5": "moonshotai/Kimi-K2.5",
    "openai/gpt-oss-120b": "openai/gpt-oss-120b",
    "zhipuai/GLM-5": "zai-org/GLM-5",
}
"""Checkpoint of the same shapes; runs of the same shapes stand on the same side of every split."""

FORMATS = {"fp8": "fp8", "fp8_block": "fp8-block", "nvfp4": "nvfp4", "int4_wo": "w4a16", "": "bf16"}
"""Formats as the source names them."""

NVFP4 = {
    "MiniMaxAI/MiniMax-M2.5": "nvidia/MiniMax-M2.5-NVFP4",
    "Qwen/Qwen3.5-397B-A17B": "nvidia/Qwen3.5-397B-A17B-NVFP4",
    "deepseek-ai/DeepSeek-R1": "nvidia/DeepSeek-V3.1-NVFP4",
    "moonshotai/Kimi-K2.5": "nvidia/Kimi-K2.5-NVFP4",
    "zai-org/GLM-5": "nvidia/GLM-5-NVFP4",
}
"""Checkpoints that leave parts in larger formats than ``nvfp4``, which their configs say."""

WHOLE_EXPERTS = {
    ("MiniMaxAI/MiniMax-M2.5", "fp8", "b200", "0.17.0"),
    ("MiniMaxAI/MiniMax-M2.5", "fp8", "h200", "0.18.0"),
}
"""Model, format, GPU and version of runs that held whole experts although the source says one expert rank. Source:
``silicon.md``."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run that can be judged."""

    model: str
    kind: Kind
    engine: str
    is_versioned: bool
    """Whether the source says the engine's version."""
    gpu: Gpu
    form: str
    layout: Layout
    load: Load
    prompt: Costs
    step: Costs
    ttft_s: float
    tpot_s: float

    @property
    def rate(self) -> float:
        """Answer tokens of one request (tokens/s)."""
        return self.load.output / (self.ttft_s + (self.load.output - 1) * self.tpot_s)

    @property
    def requests(self) -> float:
        """Requests that share a data-parallel rank (count)."""
        return requests_of(self.layout, self.load)


def cases() -> tuple[list[Case], dict[str, int]]:
    """Read all runs: those that can be judged, and how many cannot by reason."""
    found: list[Case] = []
    refused: dict[str, int] = {}
    seen = set()
    with RUNS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                case = _case(row)
                # The source took some runs from two or three exports of one benchmark.
                key = (case.model, case.engine, case.gpu.name, case.form, case.layout, case.load, row["ttft_ms"][:5])
                if key in seen:
                    raise Unjudged("measured once and listed again")
                seen.add(key)
                found.append(case)
            except Unjudged as error:
                refused[str(error)] = refused.get(str(error), 0) + 1
    kept = list(_consistent(found))
    refused[CONTRADICTED] = len(found) - len(kept)
    return kept, refused


def _consistent(runs: list[Case]) -> Iterator[Case]:
    """Yield runs whose requests were not far slower than the same with more company."""
    alike: dict[object, list[Case]] = {}
    for run in runs:
        key = (run.model, run.engine, run.is_versioned, run.gpu.name, run.form, run.layout)
        alike.setdefault((*key, run.load.prompt, run.load.output), []).append(run)
    for group in alike.values():
        for run in group:
            busier = [other.rate for other in group if other.load.concurrency > run.load.concurrency]
            if run.rate >= SLOWER * max(busier, default=0.0):
                yield run


def _case(row: dict[str, str]) -> Case:
    if reason := next(_unusable(row), ""):
        raise Unjudged(reason)
    model, gpu = LIKE[row["model"]], GPUS[row["gpu"]]
    shapes = architecture(model)
    load, form = _load(row), _form(row, shapes)
    layout = _layout(row, shapes, gpu, form)
    # Small formats are published with an fp8 cache; bf16 checkpoints keep theirs.
    machine = Machine(layout, gpu, quantisation(form), "auto" if form == "bf16" else "fp8")
    prompt, step = costs_of(_model(NVFP4.get(model, model) if form == "nvfp4" else model, machine), load)
    tpot_s = float(row["tpot_ms"]) / 1000
    if tpot_s < step.weights:
        raise Unjudged("speculative decoding: faster than weights can be read for each token")
    held = _held(model, layout, gpu, row["engine"], form, load.prompt + load.output)
    if held == 0:
        raise Unjudged("layout: the weights do not fit on the ranks given")
    if held < requests_of(layout, load):
        raise Unjudged("queueing: the cache holds fewer requests than were sent")
    return Case(
        model=model,
        kind="mixture" if any(layer.experts for layer in shapes.layers) else "dense",
        engine=row["engine"],
        is_versioned=bool(row["version"]),
        gpu=gpu,
        form=form,
        layout=layout,
        load=load,
        prompt=prompt,
        step=step,
        ttft_s=float(row["ttft_ms"]) / 1000,
        tpot_s=tpot_s,
    )


def _unusable(row: dict[str, str]) -> Iterator[str]:
    if row["mode"] != "agg":
        yield "disaggregated: prompts and answers on different GPUs"
    if not row["concurrency"]:
        yield "concurrency is not given"
    if float(row["ttft_ms"]) > QUEUE_S * 1000:
        yield f"queueing: first token after more than {QUEUE_S} s"


def _layout(row: dict[str, str], shapes: Architecture, gpu: Gpu, form: str) -> Layout:
    tensor, data, experts = int(row["tensor"]), int(row["data"] or 1), int(row["expert_ranks"] or 1)
    is_mixed = any(layer.experts for layer in shapes.layers)
    is_whole = experts > 1 or (row["model"], row["format"], row["gpu"], row["version"]) in WHOLE_EXPERTS
    # Several exports write tensor × expert ranks as tensor, or tensor ranks as data ranks once more.
    if data < 1 or tensor * data > gpu.per_host or (data == tensor > 1):
        raise Unjudged("layout: ranks contradict one host, or each other")
    if int(row["concurrency"]) != int(row["batch"]) * data:
        raise Unjudged("layout: concurrency is not that of one replica")
    layout = Layout(tensor, 1, data, is_mixed and is_whole)
    if wrong := problems(shapes, layout, _engine(row), form):
        raise Unjudged(f"{REFUSED}: {wrong[0]}")
    return layout


def _engine(row: dict[str, str]) -> Engine:
    """Rules of a run's version; the newest where it is not told, or told in another program's numbers."""
    told = VERSION.match(row["version"])
    version = (int(told[1]), int(told[2])) if told else ENGINES[row["engine"]][0].since
    return engine_for(row["engine"], version) or ENGINES[row["engine"]][0]


def _load(row: dict[str, str]) -> Load:
    share = DRAWN if row["benchmark"] == "inferencex" else 1.0
    return Load(round(share * int(row["prompt"])), round(share * int(row["output"])), int(row["concurrency"]))


def _form(row: dict[str, str], shapes: Architecture) -> str:
    said = FORMATS[row["format"]]
    if shapes.quantisation == "mxfp4":
        return "mxfp4"
    # All mixtures here are published in tiles, which the source calls ``fp8`` for short.
    is_mixed = any(layer.experts for layer in shapes.layers)
    return "fp8-block" if said == "fp8" and is_mixed else said


@cache
def _held(model: str, layout: Layout, gpu: Gpu, engine: str, form: str, length: int) -> float:
    """Requests that the cache of a data-parallel rank holds, by the memory rules of the newest version (count)."""
    options = Options(max_len=length, quantisation=form, kv_dtype="auto" if form == "bf16" else "fp8")
    return size(architecture(model), layout, gpu, ENGINES[engine][0], options).concurrency(length)


@cache
def _model(name: str, machine: Machine) -> Model:
    return Model(architecture(name), machine)
