"""A whole stack as tables."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from infra.plan.facts import ModelPlan, Plan, PoolPlan
from infra.plan.needs import Need
from infra.plan.placement import host_name
from infra.screen.bar import bar
from infra.screen.console import figure, table, wide_console
from infra.screen.words import layout_words
from infra.units import duration, gib

NOT_KNOWN = "–"
"""In place of a figure that nobody can tell."""

BAR = 24
"""Columns of the bar of each model's memory (characters)."""


def show(stack: str, path: str, plan: Plan | None, refused: list[str]) -> None:
    """Print pools, models and where they land, then notes, then every refusal."""
    console = wide_console()
    if plan:
        console.print(f"stack [bold]{escape(stack)}[/] on target {plan.target.name}")
        for part in (_pools(plan), _models(plan), _memory(plan), _money(plan)):
            if part.row_count:
                console.print(part)
        for need in plan.needs:
            console.print(escape(_needed(need)), soft_wrap=True)
        for note in plan.notes:
            console.print(f"note: {escape(note)}", soft_wrap=True)
    if not refused:
        console.print("[green]nothing refused[/]")
        return
    console.print(f"[red]refused:[/] stack {escape(repr(stack))} has {len(refused)} to fix in {escape(path)}")
    for problem in refused:
        console.print(f"  {escape(problem)}", soft_wrap=True)


def _pools(plan: Plan) -> Table:
    shown = table("POOL", "BOARD", "HOSTS>", "SPARE>", "GPUS>", "LEAVES>", "FABRIC", "HOST KIND")
    for item in plan.pools:
        pool = item.pool
        leaves = -(-pool.hosts // pool.hosts_per_leaf)
        cells = (pool.hosts, pool.spare_hosts, item.gpus, leaves)
        kind = "simulated" if item.simulated else "real"
        shown.add_row(item.name, pool.board, *(str(cell) for cell in cells), pool.fabric, kind)
    return shown


def _models(plan: Plan) -> Table:
    shown = table(
        "MODEL", "ENGINE", "REPLICAS>", "RANKS>", "LAYOUT", "FORMAT", "LANDS ON", "START", "GRACE>", "ROLLOUT"
    )
    for item in plan.models:
        roll = f"surge {item.rollover.max_surge}, unavailable {item.rollover.max_unavailable}"
        engine = f"{item.model.engine} {item.model.engine_version}"
        shape = (str(item.model.replicas), str(item.layout.gpus), layout_words(item.layout) or "–", str(item.format))
        start = f"≤ {duration(item.startup.budget)}"
        shown.add_row(item.name, engine, *shape, _lands(item, item.pool), start, f"{item.shutdown.grace} s", roll)
    return shown


def _memory(plan: Plan) -> Table:
    shown = table(
        "MODEL", "PER RANK", "", "WEIGHTS>", "AT WORK>", "KV CACHE>", "KV TOKENS>", "FITS UP TO>", "AT ONCE>", "POD>"
    )
    for item in plan.models:
        memory = item.memory
        length = item.model.typical_len or item.model.max_model_len
        cells = (
            gib(memory.weights),
            gib(memory.activation + memory.runtime + memory.graphs),
            gib(memory.kv_pool) if memory.kv_pool > 0 else "does not fit",
            f"{memory.kv_tokens:,}",
            f"{memory.longest(item.shape.max_context):,}",
            f"{int(memory.concurrency(length)):,} × {length:,}",
            gib(item.pod_memory.limit),
        )
        shown.add_row(item.name, f"{gib(memory.usable)} of {gib(memory.total)}", bar(memory, BAR), *cells)
    return shown


def _money(plan: Plan) -> Table:
    """Speed on the mean, tokens/s to count on, and cost, of the models whose goal or price is known."""
    shown = table(
        "MODEL",
        "FIRST TOKEN>",
        "NEXT TOKEN>",
        "TOKENS/S>",
        "AN HOUR>",
        "WHEN IDLE>",
        "A MILLION IN>",
        "OUT>",
        "REQUEST>",
    )
    for item in plan.models:
        if item.speed or item.cost:
            shown.add_row(item.name, *_speeds(item), *_costs(item))
    return shown


def _needed(need: Need) -> str:
    """One thing that the account must have before; names of clouds are too long for a table."""
    much = f"{need.amount:,} {need.unit} of " if need.amount is not None else ""
    return f"needs: {need.kind} — {much}{need.name}, in {need.place}, for {need.for_whom}"


def _speeds(item: ModelPlan) -> tuple[str, str, str]:
    speed = item.speed
    if speed is None:
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    rate = item.model.replicas * speed.promised_per_s
    return f"{speed.ttft_s * 1000:,.0f} ms", f"{speed.tpot_s * 1000:,.1f} ms", f"{rate:,.0f}"


def _costs(item: ModelPlan) -> list[str]:
    cost = item.cost
    if cost is None:
        return [NOT_KNOWN] * 5
    always = (cost.usd_per_hour, cost.floor_usd_per_hour)
    at_load = (cost.usd_per_million_in, cost.usd_per_million_out, cost.usd_per_request)
    return [NOT_KNOWN if usd is None else figure(usd, "usd") for usd in (*always, *at_load)]


def _lands(item: ModelPlan, pool: PoolPlan) -> str:
    place = item.placement
    if not place.hosts:
        return f"{pool.name}: nowhere"
    first, last = place.first_host, place.first_host + place.hosts - 1
    count = len(place.leaves)
    leaves = f"({count} {'leaf' if count == 1 else 'leaves'})"
    if not pool.simulated:
        return f"{pool.name}: {place.hosts} of {pool.pool.hosts} {leaves}"
    span = host_name(pool.name, first) + (f"…{last:04d}" if last > first else "")
    return f"{span} {leaves}"
