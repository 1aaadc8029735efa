"""The plan as tables for people."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.plan.facts import ModelPlan, Plan, PoolPlan
from infra.plan.placement import host_name
from infra.units import duration, gib

WIDEST = 180
"""Columns that our widest table takes (characters)."""


def show(stack: str, path: str, plan: Plan | None, refused: list[str]) -> None:
    """Print pools, models and where they land, then notes, then every refusal."""
    # Like kubectl's: columns are never cut; a narrow terminal wraps the line.
    console = Console(highlight=False, width=max(Console().width, WIDEST))
    if plan:
        console.print(f"stack [bold]{escape(stack)}[/] on target {plan.target.name}")
        for table in (_pools(plan), _models(plan), _memory(plan)):
            if table.row_count:
                console.print(table)
        for note in plan.notes:
            console.print(f"note: {escape(note)}", soft_wrap=True)
    if not refused:
        console.print("[green]nothing refused[/]")
        return
    console.print(f"[red]refused:[/] stack {escape(repr(stack))} has {len(refused)} to fix in {escape(path)}")
    for problem in refused:
        console.print(f"  {escape(problem)}", soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        name, _, side = column.partition(">")
        table.add_column(name, justify="right" if side == "" and ">" in column else "left", no_wrap=True)
    return table


def _pools(plan: Plan) -> Table:
    table = _table("POOL", "BOARD", "HOSTS>", "SPARE>", "GPUS>", "LEAVES>", "FABRIC", "HOST KIND")
    for item in plan.pools:
        pool = item.pool
        leaves = -(-pool.hosts // pool.hosts_per_leaf)
        cells = (pool.hosts, pool.spare_hosts, item.gpus, leaves)
        kind = "simulated" if item.simulated else "real"
        table.add_row(item.name, pool.board, *(str(cell) for cell in cells), pool.fabric, kind)
    return table


def _models(plan: Plan) -> Table:
    table = _table("MODEL", "ENGINE", "REPLICAS>", "TP>", "LANDS ON", "START", "GRACE>", "ROLLOUT")
    for item in plan.models:
        roll = f"surge {item.rollover.max_surge}, unavailable {item.rollover.max_unavailable}"
        engine = f"{item.model.engine} {item.model.engine_version}"
        counts = (str(item.model.replicas), str(item.model.tensor_parallel))
        start = f"≤ {duration(item.startup.budget)}"
        table.add_row(item.name, engine, *counts, _lands(item, item.pool), start, f"{item.shutdown.grace} s", roll)
    return table


def _memory(plan: Plan) -> Table:
    table = _table(
        "MODEL", "PER RANK", "WEIGHTS>", "AT WORK>", "KV CACHE>", "KV TOKENS>", "FITS UP TO>", "AT ONCE>", "POD>"
    )
    for item in plan.models:
        memory = item.memory
        work = memory.activation + memory.runtime + memory.graphs
        length = item.model.typical_len or item.model.max_model_len
        cells = (
            gib(memory.weights),
            gib(work),
            gib(memory.kv_pool) if memory.kv_pool > 0 else "does not fit",
            f"{memory.kv_tokens:,}",
            f"{memory.longest(item.shape.max_context):,}",
            f"{memory.concurrency(length):,} × {length:,}",
            gib(item.pod_memory.limit),
        )
        table.add_row(item.name, f"{gib(memory.usable)} of {gib(memory.total)}", *cells)
    return table


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
