"""What planning costs: a choice for one model, and for every model on every board."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from infra.catalog.architecture import Architecture
from infra.catalog.boards import BOARDS
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.engines import engine_for
from infra.config.goal import Goal
from infra.errors import Unknown
from infra.plan.choice import Place, choose
from infra.plan.formats import allowed
from tests.bench.watch import Timing

HOSTS = 250
"""Hosts of each board: four boards make a stack of a thousand (count)."""

VERSION = (0, 32)
"""Of vLLM."""


def one_choice() -> Timing:
    """Each known model on HGX B300 with limits on both times; the median model of them."""
    goal = Goal(prompt=2000, output=400, concurrency=256, token_s=0.05, first_token_s=5.0)
    times = []
    for architecture in _known():
        start = time.perf_counter()
        _choose(architecture, "hgx-b300", goal)
        times.append(time.perf_counter() - start)
    return statistics.median(times), f"{len(times)} models, the slowest {max(times):.3f} s"


def all_choices() -> Timing:
    """Every known model on every board, all layouts, for a thousand hosts."""
    known, boards = list(_known()), [name for name, board in BOARDS.items() if board.gpu]
    goal = Goal(prompt=2000, output=400, concurrency=256)
    start = time.perf_counter()
    for architecture in known:
        for board in boards:
            _choose(architecture, board, goal)
    return time.perf_counter() - start, f"{len(known)} models, {len(boards)} boards of {HOSTS} hosts"


def _known() -> Iterator[Architecture]:
    for name in CHECKPOINTS:
        try:
            yield CHECKPOINTS[name]
        except Unknown:
            continue


def _choose(architecture: Architecture, name: str, goal: Goal) -> None:
    board, engine = BOARDS[name], engine_for("vllm", VERSION)
    if board.gpu and engine:
        place, may = Place(board, engine, VERSION, HOSTS), tuple(allowed(architecture, (), board.gpu))
        choose(architecture, place, goal, max_len=min(16_384, architecture.max_context), formats=may)
