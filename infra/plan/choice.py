"""The cheapest way to run a model on a pool so that it meets its goal, the next one, and what keeps it from less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from infra.catalog.architecture import Architecture
from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.config.goal import Goal
from infra.errors import ConfigError, Unknown
from infra.plan.formats import Format
from infra.plan.layout import Layout, problems
from infra.plan.limits import Limits, Rank, lacks
from infra.plan.memory import Memory
from infra.plan.speed import Load, Speed, predictor
from infra.plan.spread import End, SpeedAt, Spread, at_worst, on_the_mean, spread

PROMISED = ("first_token_s", "token_s", "tokens_per_s", "hosts")
"""What a way may be short of at the bad end of its error and not on the mean; memory has no such ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model may run."""

    board: Board
    engine: Engine
    version: tuple[int, int]
    """Of the engine."""
    hosts: int
    """Hosts that replicas may be put on (count)."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run a model that meets its goal."""

    layout: Layout
    format: Format
    limits: Limits
    """Batch of one rank, and the memory it leaves."""
    spread: Spread
    """How many replicas, and how each runs at the bad end of its error when the goal's requests are shared out."""
    likely: int
    """Replicas that meet the goal if the prediction is right on the mean (count)."""

    @property
    def replicas(self) -> int:
        """Replicas that meet the goal together (count)."""
        return self.spread.replicas

    @property
    def gpus(self) -> int:
        """GPUs of all replicas (count)."""
        return self.replicas * self.layout.gpus

    @property
    def memory(self) -> Memory:
        """Memory of one rank."""
        return self.limits.memory


@dataclass(frozen=True, slots=True)
class Miss:
    """One way to run a model that does not meet its goal."""

    layout: Layout
    format: Format
    because: str
    """What is short: ``weights``, ``context``, ``first_token_s``, ``token_s``, ``tokens_per_s``, ``hosts``; or why
    it cannot be told."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to run."""

    best: Option | None
    """None: nothing on this pool is sure to meet the goal."""
    runner_up: Option | None
    binds: str
    """What would have to give way for less to do, in words of ``Miss`` or ``concurrency``."""
    misses: tuple[Miss, ...]
    """Ways that were tried and are short of something."""
    likely: Option | None = None
    """Without a best: what meets the goal if the prediction is right on the mean."""


def choose(architecture: Architecture, place: Place, goal: Goal, *, max_len: int, formats: Iterable[Format]) -> Choice:
    """Find the fewest GPUs of one pool that meet a goal; equal numbers go to the simpler layout.

    The goal is met at the bad end of each prediction's error: capacity is not promised on a mean.

    Args:
        max_len: longest request that must fit (tokens).
        formats: formats that may be used, the one to prefer first.
    """
    order = list(formats)
    choice = _search(architecture, place, goal, max_len=max_len, order=order, end=at_worst)
    if choice.best or all(miss.because not in PROMISED for miss in choice.misses):
        return choice
    return replace(
        choice, likely=_search(architecture, place, goal, max_len=max_len, order=order, end=on_the_mean).best
    )


def _search(
    architecture: Architecture, place: Place, goal: Goal, *, max_len: int, order: list[Format], end: End
) -> Choice:
    found: list[Option] = []
    misses: list[Miss] = []
    ways = [(layout, form) for form in order for layout in layouts(architecture, place, form)]
    for layout, form in sorted(ways, key=lambda way: way[0].gpus):
        if len(found) > 1 and layout.gpus > found[1].gpus:
            break
        way = attempt(architecture, place, goal, max_len=max_len, layout=layout, form=form, end=end)
        if isinstance(way, Miss):
            misses.append(way)
        else:
            found = sorted([*found, way], key=lambda option: _rank(option, order))[:2]
    best, second = (*found, None, None)[:2]
    return Choice(best, second, _binds(best, misses), tuple(misses))


def layouts(architecture: Architecture, place: Place, form: Format) -> Iterator[Layout]:
    """Yield ways to share the GPUs of a host without remainder that a model's shapes allow, fewest GPUs first.

    Stages wait for each other and whole experts are unevenly busy, so both are for what ranks cannot share; ranks with
    requests of their own, which keep MLA's cache apart, hold whole experts.
    """
    most = place.board.gpus
    shares = [count for count in range(1, most + 1) if most % count == 0]
    experts = any(layer.experts for layer in architecture.layers)
    for gpus in shares:
        parts = [count for count in shares if count > 1 and gpus % count == 0]
        ways = [Layout(gpus)]
        if problems(architecture, ways[0], place.engine, form.weights):
            ways = [Layout(gpus, expert_parallel=True), *(Layout(gpus // stages, stages) for stages in parts)]
        if experts:
            ways += [Layout(gpus // data, data=data, expert_parallel=True) for data in parts]
        yield from (way for way in ways if not problems(architecture, way, place.engine, form.weights))


def attempt(
    architecture: Architecture,
    place: Place,
    goal: Goal,
    *,
    max_len: int,
    layout: Layout,
    form: Format,
    end: End = at_worst,
) -> Option | Miss:
    """Run a model one way: with the batch that needs fewest replicas, the largest of equal ones.

    Args:
        end: which end of a prediction's error has to meet the goal.
    """
    if place.board.gpu is None:
        return Miss(layout, form, f"board {place.board.name!r} has no GPUs")
    rank = Rank(architecture, layout, place.board.gpu, place.engine, place.version, form)
    try:
        best = _best_batch(rank, goal, max_len, end)
    except (Unknown, ConfigError) as error:
        return Miss(layout, form, str(error))
    if isinstance(best, str):
        return Miss(layout, form, best)
    room = place.hosts * (place.board.gpus // layout.gpus)
    return best if best.replicas <= room else Miss(layout, form, "hosts")


def _best_batch(rank: Rank, goal: Goal, max_len: int, end: End) -> Option | str:
    """Find the batch that needs fewest replicas, the largest of equal ones; a word says what all of them lack."""
    speeds = _speeds(rank, goal)
    best: Option | None = None
    short = ""
    for batch in rank.candidates(max_len, goal.length):
        if lacking := lacks(batch, max_len):
            short = short or lacking
            if batch.memory.weights + batch.memory.runtime >= batch.memory.usable:
                break
            continue
        held = batch.max_seqs * rank.layout.data
        run = spread(goal, held, lambda requests: end(speeds(requests)))
        if isinstance(run, str):
            return run
        if best is None or run.replicas < best.replicas:
            mean = spread(goal, held, speeds)
            likely = mean.replicas if isinstance(mean, Spread) else run.replicas
            best = Option(rank.layout, rank.format, batch, run, likely)
        # A smaller batch leaves memory for more requests, and helps where those bind.
        if run.binds != "concurrency":
            break
    return best or short


def _speeds(rank: Rank, goal: Goal) -> SpeedAt:
    """Speed of one replica by the requests it answers at once, each reckoned once."""

    @cache
    def at() -> Callable[[Load], Speed]:
        return predictor(
            rank.architecture, rank.layout, rank.gpu, rank.engine, rank.format.weights, kv_dtype=rank.format.cache
        )

    return cache(lambda requests: at()(Load(goal.prompt, goal.output, requests)))


def _rank(option: Option, formats: list[Format]) -> tuple[int, ...]:
    layout = option.layout
    simple = (layout.pipeline, layout.data, layout.tensor, layout.expert_parallel)
    return (option.gpus, formats.index(option.format), *simple)


def _binds(best: Option | None, misses: list[Miss]) -> str:
    """What keeps the best from less: more replicas than one, else what fewer GPUs are short of."""
    if best and best.spread.binds:
        return best.spread.binds
    smaller = [miss for miss in misses if best is None or miss.layout.gpus < best.layout.gpus]
    return smaller[-1].because if smaller else ""
