"""What is known of a model: does it fit, what it holds, how fast it is, what it costs, and what else would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from infra.catalog.engines import ENGINES
from infra.catalog.prices import Price
from infra.errors import ConfigError, Unknown
from infra.plan.cost import Cost, cost, work_of
from infra.plan.layout import Layout, problems
from infra.plan.memory import Memory
from infra.plan.objections import objections
from infra.plan.single import Single, single_of
from infra.plan.speed import Load, Speed, predict

if TYPE_CHECKING:
    from infra.plan.choice import Choice
    from infra.plan.facts import ModelPlan
    from infra.plan.startup import Startup

WIDTHS = (1, 2, 4, 8)
"""GPUs of one replica that are tried beside what was asked for (counts)."""

HOSTS = (2, 4)
"""Hosts of one replica that are tried where one is too small (counts)."""

USUAL_TOKENS = 1024
"""Prompt and answer of a request where nobody says (tokens). Source: the load that public benchmarks name most."""

USUAL_CONCURRENCY = 16
"""Requests at once where nobody says (count). Source: our choice; fewer where fewer fit."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Load of one replica as far as somebody says it."""

    prompt: int | None = None
    """Tokens of a prompt."""
    output: int | None = None
    """Tokens of an answer."""
    concurrency: int | None = None
    """Requests at once (count)."""


@dataclass(frozen=True, slots=True)
class Way:
    """The same model run some other way."""

    name: str
    gpus: int
    """GPUs of one replica (count)."""
    memory: Memory


@dataclass(frozen=True, slots=True)
class Outlook:
    """One model as one screen, one report page or one JSON object tells it."""

    single: Single
    replicas: int
    memory: Memory
    length: int
    """Prompt and answer of a usual request (tokens)."""
    problems: tuple[str, ...]
    """Why it cannot be run this way, each with what to do; empty when it can."""
    load: Load | None
    """Load of one replica that speed and cost hold at."""
    speed: Speed | None
    unknown: str
    """Why the speed is not told; empty when it is."""
    cost: Cost | None
    startup: Startup | None = None
    choice: Choice | None = None
    ways: tuple[Way, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Why figures are what they are, and what may make them worse, one sentence each."""
        return (*self.memory.notes, *(self.speed.notes if self.speed else ()))

    def speed_at(self, requests: int) -> Speed | None:
        """Speed of one replica with another number of requests at once; None where it cannot be told."""
        return _speed(self.single, replace(self.load, concurrency=requests) if self.load else None)[0]


def outlook_of(item: ModelPlan, refused: Iterable[str] = ()) -> Outlook:
    """Gather what a plan says of one of its models.

    Args:
        item: the model.
        refused: all that is wrong with its stack; what names the model's own keys is told of it.
    """
    goal, single = item.model.goal, single_of(item)
    length = goal.length if goal else item.model.typical_len or item.model.max_model_len
    requests = ceil(goal.concurrency / item.model.replicas) if goal else 1
    load = Load(goal.prompt, goal.output, min(item.max_seqs * item.layout.data, requests) or 1) if goal else None
    unknown = "" if item.speed else "the model has no goal" if goal is None else _speed(single, load)[1]
    wrong = tuple(problem for problem in refused if names(problem, item.name)) or _objections(single, item.memory)
    return Outlook(
        single, item.model.replicas, item.memory, length, wrong, load, item.speed, unknown, item.cost, item.startup,
        item.choice,
    )  # fmt: skip


def names(problem: str, model: str) -> bool:
    """Whether what is wrong with a stack is wrong with one model, by the key that stands first or behind a file."""
    keys = (part.rpartition(" ")[2] for part in problem.split(": ")[:2])
    return any(f"{key}.".startswith(f"models.{model}.") for key in keys)


def outlook(single: Single, asked: Asked, price: Price | None) -> Outlook:
    """Look at one replica that no stack asks for.

    Raises:
        ConfigError: the layout, the format or the settings cannot be.
        Unknown: what the engine would do with this model is not known.
    """
    unshared = problems(single.architecture, single.layout, single.engine, single.options.quantisation or "")
    if unshared:
        raise ConfigError(*unshared)
    if single.options.speculative_tokens and not single.architecture.drafter:
        raise Unknown(
            f"model {single.name!r} — its config has no layers that draft, and what another drafter weighs and keeps "
            "cannot be told; plan it without, and hold its start-up log against the plan with infra fit"
        )
    memory, ways = single.memory, tuple(_ways(single))
    load = _load(single, memory, asked)
    wrong = [*_objections(single, memory, ways), *_crowded(single, memory, load)]
    # What does not start has no speed, and what it would cost is nobody's offer.
    speed, unknown = _speed(single, load) if memory.starts else (None, "it does not start")
    spent = None
    if price:
        alone = _speed(single, replace(load, concurrency=1))[0] if speed else None
        work = work_of(speed, alone, load) if speed and alone else None
        spent = cost(price, used=single.layout.gpus, held=single.layout.gpus, replicas=1, work=work)
    length = load.prompt + load.output
    return Outlook(single, 1, memory, length, tuple(wrong), load, speed, unknown, spent, ways=ways)


def _load(single: Single, memory: Memory, asked: Asked) -> Load:
    """Fill in what nobody says, so that it fits."""
    longest = single.settings.length
    usual = max(1, min(USUAL_TOKENS, longest // 2))
    prompt, output = asked.prompt or usual, asked.output or usual
    if prompt + output > longest:
        raise ConfigError(
            f"a request of {prompt:,} and {output:,} tokens — is longer than the longest one, {longest:,}; "
            "lower prompt or output, or raise the longest request"
        )
    held = int(memory.concurrency(prompt + output)) * single.layout.data
    return Load(prompt, output, asked.concurrency or max(1, min(USUAL_CONCURRENCY, held)))


def _crowded(single: Single, memory: Memory, load: Load) -> Iterator[str]:
    length = load.prompt + load.output
    held = int(memory.concurrency(length)) * single.layout.data
    if memory.starts and load.concurrency > held:
        yield f"{load.concurrency:,} requests of {length:,} tokens do not fit at once; {held:,} do, or use more GPUs"


def _speed(single: Single, load: Load | None) -> tuple[Speed | None, str]:
    """Predict a speed, or tell why it cannot be."""
    if single.gpu is None or load is None:
        return None, "speed on a CPU is not planned"
    form, cache = single.options.quantisation or single.architecture.quantisation or "bf16", single.options.kv_dtype
    try:
        return predict(single.architecture, single.layout, single.gpu, single.engine, form, load, kv_dtype=cache), ""
    except (Unknown, ConfigError) as error:
        return None, str(error)


def _objections(single: Single, memory: Memory, ways: tuple[Way, ...] = ()) -> tuple[str, ...]:
    asked = single.settings.length
    wider = (way for way in ways if way.gpus > single.layout.gpus and way.memory.longest(asked) >= asked)
    return tuple(objections(single, memory, next((way.name for way in wider), "")))


def _ways(single: Single) -> list[Way]:
    """Other widths of the same engine, more hosts where one is too small, then other engines."""
    ways = []
    gpu, layout = single.gpu, single.layout
    for gpus in WIDTHS:
        other = replace(layout, tensor=gpus) if layout.pipeline == layout.data == 1 else Layout(gpus)
        if gpu and gpus <= gpu.per_host and other != layout:
            ways += _way(f"{gpus} × {gpu.name}", replace(single, layout=other))
    return [*ways, *_over_hosts(single, ways), *_engines(single)]


def _over_hosts(single: Single, within: Iterable[Way]) -> Iterator[Way]:
    """Stages on several hosts, where no single host holds the model; of a stack they are refused as yet (RW-104)."""
    gpu, asked = single.gpu, single.settings.length
    memories = [way.memory for way in within]
    if gpu is None or single.layout.gpus > gpu.per_host:
        return
    with suppress(ConfigError, Unknown):
        memories.append(single.memory)
    if any(memory.longest(asked) >= asked for memory in memories):
        return
    for hosts in HOSTS:
        stages = Layout(gpu.per_host, pipeline=hosts)
        yield from _way(f"{stages.gpus} × {gpu.name} on {hosts} hosts", replace(single, layout=stages))


def _engines(single: Single) -> Iterator[Way]:
    """Other engines, as they come."""
    for name, lines in ENGINES.items():
        if name != single.engine.name:
            plain = replace(single.options, utilisation=None, max_seqs=None, batched_tokens=None, version=None)
            yield from _way(name, replace(single, engine=lines[0], options=plain))


def _way(name: str, single: Single) -> list[Way]:
    """One other way, unless it cannot be or nobody can tell."""
    if problems(single.architecture, single.layout, single.engine, single.options.quantisation or ""):
        return []
    try:
        return [Way(name, single.layout.gpus, single.memory)]
    except (ConfigError, Unknown):
        return []
