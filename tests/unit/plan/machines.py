"""Machines of the small stack in specs.py: 4 HGX H100 hosts, 2 to a leaf, 8 rails each."""

from __future__ import annotations

from typing import Any

Written = dict[str, Any]


def rail(host: int, number: int) -> Written:
    """One rail of one host, in a subnet of its own."""
    return {
        "interface": f"rail{number}",
        "pci": f"0000:{16 + number:02x}:00.0",
        "address": f"10.{100 + number}.0.{10 + host}/24",
        "gateway": f"10.{100 + number}.0.1",
    }


def machine(host: int, **changes: Any) -> Written:
    """One host; a change to None takes the key away."""
    written = {
        "name": f"gpus-{host}",
        "address": f"10.0.0.{10 + host}",
        "leaf": f"leaf-{host // 2}",
        "rack": "r1",
        "rails": [rail(host, number) for number in range(8)],
        **changes,
    }
    return {key: value for key, value in written.items() if value is not None}


def machines(**changes: Any) -> list[Written]:
    """All four, the last one changed."""
    return [*map(machine, range(3)), machine(3, **changes)]


NAMED = {"pools/gpus/machines": machines()}
"""The change that gives the stack of specs.py its machines."""
