"""One model on one screen: where its memory goes, what it holds, how fast it is, what it costs, what else would do."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.plan.cost import Cost
from infra.plan.goals import SHORT_OF, said
from infra.plan.outlook import Outlook
from infra.plan.speed import Band, Speed
from infra.screen.bar import bar, parts
from infra.screen.console import figure, table
from infra.screen.words import format_words, layout_words
from infra.units import duration, gib

WIDE = 140
"""Columns from which on memory and figures stand side by side (characters)."""

LABEL = 16
"""Columns of the names of figures (characters)."""


def show(console: Console, outlook: Outlook) -> None:
    """Print one screen."""
    console.print(_title(outlook))
    for problem in outlook.problems:
        console.print(f"  [red]does not hold:[/] {escape(problem)}", soft_wrap=True)
    console.print(bar(outlook.memory, console.width - 2))
    legend, known = _legend(outlook), _facts(outlook)
    if console.width >= WIDE:
        both = Table.grid(padding=(0, 4))
        both.add_row(legend, known)
        console.print(both)
    else:
        console.print(legend)
        console.print(known)
    if outlook.ways:
        console.print(_ways(outlook))
    for note in outlook.notes:
        console.print(f"note: {escape(note)}", soft_wrap=True)


def _title(outlook: Outlook) -> str:
    single, layout = outlook.single, outlook.single.layout
    times = f"{outlook.replicas} replicas of " if outlook.replicas > 1 else ""
    shares = f" ({words})" if (words := layout_words(layout)) else ""
    where = f"{times}{layout.gpus} × {single.gpu.name}{shares}" if single.gpu else f"{times}1 × CPU"
    verdict = "[red]does not hold[/]" if outlook.problems else "[green]holds[/]"
    return f"[bold]{escape(single.name)}[/]: {where}, {single.engine.name} {escape(single.version)} — {verdict}"


def _legend(outlook: Outlook) -> Table:
    memory = outlook.memory
    shown = table("", "MEMORY OF A RANK", "", "SHARE>")
    for part in parts(memory):
        glyph = f"[{part.colour}]{part.glyph}[/]"
        shown.add_row(glyph, part.name, f"{gib(part.size):>10}", f"{part.size / memory.total:.1%}")
    if memory.kv_pool <= 0:
        shown.add_row("[red]![/]", "missing", f"{gib(-memory.kv_pool):>10}", f"{-memory.kv_pool / memory.total:.1%}")
    shown.add_row("", "total", f"{gib(memory.total):>10}", "")
    return shown


def _facts(outlook: Outlook) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold", min_width=LABEL)
    grid.add_column()
    for name, text in facts(outlook):
        grid.add_row(name, escape(text))
    return grid


def facts(outlook: Outlook) -> Iterator[tuple[str, str]]:
    """Yield what is known of a model beside its memory: names and values, in the order people ask."""
    yield from (*_context(outlook), *_pace(outlook), *_money(outlook), *_choice(outlook))


def _context(outlook: Outlook) -> Iterator[tuple[str, str]]:
    memory, single = outlook.memory, outlook.single
    settings = single.settings
    yield "model", _model(outlook)
    yield "format", format_words(single)
    yield "batch", f"{settings.seqs:,} requests, {settings.tokens:,} tokens, share of memory {settings.share:g}"
    if memory.pool:
        yield "KV tokens", f"{memory.kv_tokens:,} in {memory.pool.blocks:,} blocks of {memory.block_tokens:,}"
        most = single.architecture.max_context
        yield "longest request", f"{memory.longest(most):,} of {most:,} tokens"
        lengths = dict.fromkeys((outlook.length, settings.length))
        yield (
            "at once",
            ", or ".join(_held(outlook, length) for length in lengths if length <= settings.length) + " tokens",
        )
    if outlook.startup:
        yield "start", f"{duration(outlook.startup.floor)}, at most {duration(outlook.startup.budget)}"


def _held(outlook: Outlook, length: int) -> str:
    held, most = outlook.memory.concurrency(length), outlook.single.settings.seqs
    return f"{held:,.1f} × {length:,}" if held <= most else f"{most:,} (all of a batch) × {length:,}"


def _model(outlook: Outlook) -> str:
    shape = outlook.single.architecture
    works = shape.active_parameters < 0.9 * shape.parameters
    active = f", {_count(shape.active_parameters)} at work" if works else ""
    return f"{shape.name}, {_count(shape.parameters)} parameters{active}"


def _count(parameters: int) -> str:
    return f"{parameters / 1e9:,.1f} B" if parameters >= 1e8 else f"{parameters / 1e6:,.1f} M"


def _pace(outlook: Outlook) -> Iterator[tuple[str, str]]:
    speed, load = outlook.speed, outlook.load
    if speed is None or load is None:
        yield "speed", f"cannot tell: {outlook.unknown}"
        return
    yield "load", f"{load.prompt:,} tokens in, {load.output:,} out, {load.concurrency:,} at once on each replica"
    yield "first token", _banded(speed.ttft_s, speed.ttft_band)
    yield "next token", _banded(speed.tpot_s, speed.band)
    rate = f"{speed.tokens_per_s:,.0f} tokens/s, {speed.tokens_per_s_per_gpu:,.0f} of each GPU"
    yield "rate", f"{rate}; count on {speed.promised_per_s:,.0f}"
    yield "waits for", f"{speed.bound}; fitted on {speed.basis}" + _beyond(speed)


def _banded(seconds: float, band: Band) -> str:
    return f"{_short(seconds)} ({_short(seconds * band.low)} to {_short(seconds * band.high)})"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def _beyond(speed: Speed) -> str:
    return f"; extrapolated in {', '.join(speed.extrapolated)}" if speed.extrapolated else ""


def _money(outlook: Outlook) -> Iterator[tuple[str, str]]:
    cost = outlook.cost
    if cost is None:
        yield "cost", "cannot tell: nobody says what a GPU costs"
        return
    hour, floor = figure(cost.usd_per_hour, "usd"), figure(cost.floor_usd_per_hour, "usd")
    idle = f", {floor} when idle" if floor != hour else ""
    yield "cost an hour", f"{hour}{idle}; {_whose(cost, 'GPU' if outlook.single.gpu else 'host')}"
    if cost.usd_per_request and cost.usd_per_million_in and cost.usd_per_million_out:
        per_in, per_out = figure(cost.usd_per_million_in, "usd"), figure(cost.usd_per_million_out, "usd")
        request = figure(cost.usd_per_request, "usd")
        yield "cost a million", f"{per_in} in, {per_out} out, {request} a request, when {cost.share:.0%} busy"


def _whose(cost: Cost, what: str) -> str:
    price = cost.price
    day = f" of {price.as_of}" if price.as_of else ""
    kind = "reference price, say your own" if price.is_reference else price.basis
    return f"{figure(price.usd_per_gpu_hour, 'usd')} a {what}{day} ({kind})"


def _choice(outlook: Outlook) -> Iterator[tuple[str, str]]:
    choice = outlook.choice
    if choice is None:
        return
    yield "would do", said(choice.best) if choice.best else "nothing on its pool for sure"
    if likely := choice.likely:
        yield "likely does", said(likely)
    yield "binds", SHORT_OF.get(choice.binds, choice.binds)
    yield "runner-up", said(choice.runner_up) if choice.runner_up else "none"


def _ways(outlook: Outlook) -> Table:
    shown = table("OTHER WAYS", "CACHE>", "KV TOKENS>", "LONGEST>", "AT ONCE>")
    most = outlook.single.architecture.max_context
    for way in outlook.ways:
        memory = way.memory
        cache = gib(memory.kv_pool) if memory.kv_pool > 0 else "does not fit"
        held = f"{memory.concurrency(outlook.length):,.1f} × {outlook.length:,}"
        shown.add_row(way.name, cache, f"{memory.kv_tokens:,}", f"{memory.longest(most):,}", held)
    return shown
