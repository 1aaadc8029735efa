"""Both ways to ask a host come to the same."""

from __future__ import annotations

from infra.errors import Unknown
from infra.plan.hosts import wanted
from runbooks.lib.hosts.proof import judged
from tests.host.suite import Suite


def test_fast_and_slow_agree(name: str, suite: Suite) -> None:
    """One round trip for everything, and testinfra asking one by one, are judged alike."""
    if name in suite.dark:
        raise Unknown(f"{name} does not answer: {suite.dark[name]}")
    host = next(one for one in suite.hosts if one.name == name)
    items = wanted(host)
    fast, slow = suite.fast(host, items), suite.slow(host, items)
    different = {
        item.id: (quick.outcome, quick.found, plain.outcome, plain.found)
        for item in items
        if (quick := judged(item, fast)).outcome is not (plain := judged(item, slow)).outcome
    }
    assert different == {}
