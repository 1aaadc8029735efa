"""A stack grows with pools and models, never with hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.graph.conftest import config_of

Record = Callable[[str, dict[str, Any]], dict[str, Any]]


def _kinds(record: Record, hosts: int) -> Counter[str]:
    config = config_of("lab")
    pools = config["railwright:pools"]
    others = sum(pool["hosts"] for name, pool in pools.items() if name != "b300")
    pools["b300"]["hosts"] = hosts - others
    return Counter(item["type"] for item in record("lab", config)["resources"])


def test_a_thousand_hosts_take_as_many_resources_as_ten(record: Record) -> None:
    """Preview time and state size follow the spec, not the fleet."""
    assert _kinds(record, 10) == _kinds(record, 1000)
