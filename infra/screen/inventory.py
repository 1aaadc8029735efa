"""An inventory as a table: one host a line."""

from __future__ import annotations

from infra.plan.inventory import Inventory
from infra.screen.console import table, wide_console


def show(inventory: Inventory) -> None:
    """Print every host with its place; then what is in the API only."""
    console = wide_console()
    shown = table("host", "address", "pool", "board", "fabric", "leaf", "rack", "rails>", "machine", "role")
    for pool in inventory.pools:
        for host in pool.hosts:
            place = (host.pool, host.board, host.fabric, host.leaf or "-", host.rack or "-")
            shown.add_row(host.name, host.address or "-", *place, str(len(host.rails)), host.machine, pool.role)
    if shown.row_count:
        console.print(shown)
    for name, count in inventory.simulated.items():
        console.print(f"pool {name}: {count} simulated hosts, which no play can reach")
