"""How right the memory rules are: every published start-up log and every out-of-memory report, judged one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from infra.catalog.calibration import Log, logs, read
from infra.catalog.engines import ENGINES
from infra.errors import ConfigError, Unknown
from infra.plan.memory.blocks import blocks
from infra.plan.memory.options import settle
from infra.units import GIB
from tests.bench.planner_accuracy.cases import Unjudged, architecture, engine, layout_of, options, planned
from tests.bench.planner_accuracy.gpus import KNOWN
from tests.bench.planner_accuracy.split import calibration

REPORTS = Path(__file__).parent / "data" / "oom_reports.csv"
"""Reports of engines that ran out of memory, in the columns of logs."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bound that the measurement has to keep."""

    name: str
    measured: float | None
    """None: no row to measure it on, which does not pass."""
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether it was measured and kept."""
        return self.measured is not None and self.measured <= self.allowed


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row with what the planner makes of it; errors are shares, above zero when it promises too much."""

    row: Log
    side: str
    """``fitted on`` or ``held out``."""
    weights: float | None = None
    pool: float | None = None
    concurrency: float | None = None
    """At the longest request, end to end."""
    given_pool: float | None = None
    """At the longest request, from the pool that the log gives."""
    starts: bool | None = None
    fits: bool | None = None
    why_not: str = ""
    """Why it could not be judged, or not in full."""

    @property
    def gives_both(self) -> bool:
        """Whether the log gives weights and activation."""
        return self.row.weights_gib is not None and self.row.activation_gib is not None

    @property
    def is_wrong(self) -> bool:
        """Whether a success is called a no-fit, or a failure a fit."""
        if self.row.outcome == "serves":
            return self.starts is False
        return (self.starts if self.row.outcome == "refuses" else self.fits) is True


def fitted_on() -> frozenset[str]:
    """Models whose rows the rules were fitted on."""
    return calibration(row.model for row in logs() if row.weights_gib and row.activation_gib and row.version)


def verdicts() -> list[Verdict]:
    """Judge every row of the logs."""
    sides = fitted_on()
    return [judge(row, "fitted on" if row.model in sides else "held out") for row in logs()]


def reports() -> list[Verdict]:
    """Judge every report of a failure."""
    with REPORTS.open(encoding="utf-8") as lines:
        return [judge(row, "held out") for row in read(lines)]


def judge(row: Log, side: str) -> Verdict:
    """Compare one row with the plan, as far as the row goes."""
    given, missing = None, []
    try:
        given = _given_pool(row)
    except Unjudged as error:
        missing.append(f"pool to requests: {error}")
    try:
        memory = planned(row)
    except Unjudged as error:
        return Verdict(row, side, given_pool=given, why_not="; ".join((str(error), *missing)))
    logged = _logged_concurrency(row)
    at_once = memory.concurrency(memory.length)
    return Verdict(
        row, side,
        weights=_error(memory.weights / GIB, row.weights_gib),
        pool=_error(memory.kv_pool / GIB, row.pool_gib) if (row.pool_gib or 0) > 0 else None,
        concurrency=_error(at_once, logged),
        given_pool=given,
        starts=memory.starts, fits=memory.fits,
        why_not="; ".join(missing),
    )  # fmt: skip


def bars(rows: list[Verdict], failures: list[Verdict]) -> list[Bar]:
    """What has to hold, measured on rows that nothing was fitted on."""
    held = [row for row in rows if row.side == "held out"]
    both = [abs(row.pool) for row in held if row.pool is not None and row.gives_both]
    less = [abs(row.pool) for row in held if row.pool is not None and not row.gives_both]
    at_once = [abs(_first(row)) for row in held if _has_concurrency(row)]
    everything = [*rows, *failures]
    return [
        Bar("weights, worst", _worst(row.weights for row in everything), 0.01),
        Bar("KV pool where weights and activation are logged, median", median(both) if both else None, 0.02),
        Bar("KV pool where weights and activation are logged, worst", max(both, default=None), 0.05),
        Bar("KV pool elsewhere, median", median(less) if less else None, 0.04),
        Bar("maximum concurrency, median", median(at_once) if at_once else None, 0.03),
        Bar("promised too much, worst", max((over for row in rows if (over := _over(row)) is not None), default=None),
            0.10),
        Bar("verdicts that are wrong (count)", float(sum(row.is_wrong for row in everything)), 0),
    ]  # fmt: skip


def main() -> int:
    """Print the table, what could not be judged, and whether every bar holds."""
    rows, failures = verdicts(), reports()
    print(f"fitted on {', '.join(sorted(fitted_on()))}; all other models are held out\n")
    print("\n".join(_table(rows)), "\n\nreports of failures\n", *("\n".join(_table(failures)),), sep="")
    missing = [row for row in (*rows, *failures) if row.why_not]
    print("\nnot judged, or not in full")
    print("\n".join(f"{row.row.id:>6}  {row.row.model[:34]:34}  {row.why_not}" for row in missing))
    print()
    found = bars(rows, failures)
    for bar in found:
        measured = "no row" if bar.measured is None else _number(bar)
        print(f"{'ok  ' if bar.holds else 'FAIL'}  {bar.name}: {measured}, at most {_number(bar, allowed=True)}")
    return 0 if all(bar.holds for bar in found) else 1


def _given_pool(row: Log) -> float | None:
    """Error of the concurrency when the log's own pool is given."""
    logged = _logged_concurrency(row)
    if logged is None or row.pool_gib is None or row.pool_gib <= 0 or row.max_len is None:
        return None
    if row.kv_dtype == "not given":
        raise Unjudged("format of the cache is not given")
    shapes, layout, chosen = architecture(row.like), layout_of(row), options(row)
    if all(cache.kind == "full" for layer in shapes.layers for cache in layer.caches):
        # Neither the version nor the size of a batch changes what such a model keeps.
        rules, gpu = ENGINES[row.engine][0], KNOWN["h100"]
    elif row.gpu in KNOWN:
        rules, gpu = engine(row), KNOWN[row.gpu]
    else:
        raise Unjudged("GPU is not known, and the size of its batches with it")
    settings = settle(chosen, shapes, layout, gpu, rules)
    try:
        found = blocks(shapes, layout, rules, chosen, settings, round(row.pool_gib * GIB))
    except (ConfigError, Unknown) as error:
        raise Unjudged(str(error)) from error
    return _error(found.concurrency(row.max_len), logged)


def _logged_concurrency(row: Log) -> float | None:
    # Cache sizes in tokens are rounded less than concurrency, which has two decimals.
    if row.tokens and row.max_len:
        return row.tokens / row.max_len
    return row.concurrency


def _error(planned_value: float, logged: float | None) -> float | None:
    return None if not logged else planned_value / logged - 1


def _first(row: Verdict) -> float:
    return row.concurrency if row.concurrency is not None else row.given_pool or 0.0


def _has_concurrency(row: Verdict) -> bool:
    return row.concurrency is not None or row.given_pool is not None


def _over(row: Verdict) -> float | None:
    """Capacity promised beyond what was logged; a start that is refused promises nothing."""
    if row.starts is False:
        return None
    found = [error for error in (row.pool, row.concurrency) if error is not None]
    return max(found, default=None)


def _worst(errors: Iterator[float | None]) -> float | None:
    return max((abs(error) for error in errors if error is not None), default=None)


def _table(rows: list[Verdict]) -> Iterator[str]:
    yield f"{'row':>6}  {'model':34} {'rows':9} {'weights':>8} {'pool':>8} {'at once':>8} {'of pool':>8}  verdict"
    for row in rows:
        cells = " ".join(
            f"{'' if value is None else f'{value:+.2%}':>8}"
            for value in (row.weights, row.pool, row.concurrency, row.given_pool)
        )
        yield f"{row.row.id:>6}  {row.row.model[:34]:34} {row.side:9} {cells}  {_said(row)}"


def _said(row: Verdict) -> str:
    if row.starts is None:
        return "not judged"
    said = "fits" if row.fits else "starts, not safe" if row.starts else "no fit"
    return f"{said}, log {row.row.outcome}{' — WRONG' if row.is_wrong else ''}"


def _number(bar: Bar, *, allowed: bool = False) -> str:
    value = bar.allowed if allowed else bar.measured or 0.0
    return f"{value:g}" if bar.name.endswith("(count)") else f"{value:.2%}"
