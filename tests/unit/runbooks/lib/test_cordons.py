"""A cordon belongs to its reasons: the last of ours opens a host, and a cordon that is not ours is never touched."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from runbooks.lib.kubernetes import hosts, views
from tests.unit.runbooks.lib.things import node


def _apply(raw: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Merge as the API server does: null removes."""
    merged = dict(raw)
    for key, value in patch.items():
        if isinstance(value, dict):
            merged[key] = _apply(merged.get(key, {}), value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def _after(raw: dict[str, Any], *moves: str) -> views.Host:
    """Play moves such as ``+gpu`` and ``-gpu``, and ``human cordons`` and ``human uncordons``."""
    for move in moves:
        host = views.host(raw)
        if move.startswith("human"):
            raw = _apply(raw, {"spec": {"unschedulable": True if move == "human cordons" else None}})
        else:
            change = hosts.with_reason if move[0] == "+" else hosts.without_reason
            raw = _apply(raw, change(host, move[1:]))
    return views.host(raw)


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c"])), ids="".join)
def test_the_last_reason_opens_the_host(order: tuple[str, ...]) -> None:
    """In whichever order three faults clear, the host is closed until the last has."""
    came = ["+a", "+b", "+c"]
    gone = [f"-{reason}" for reason in order]
    closed = [_after(node(), *came, *gone[:count]).cordoned for count in range(4)]
    assert closed == [True, True, True, False]
    assert _after(node(), *came, *gone).cordoned_by == ()


@pytest.mark.parametrize("order", list(permutations(["a", "b"])), ids="".join)
def test_a_cordon_from_before_ours_survives(order: tuple[str, ...]) -> None:
    """Someone else's cordon stays when all of ours have gone, and leaves no mark of ours."""
    host = _after(node(cordoned=True), "+a", "+b", *(f"-{reason}" for reason in order))
    assert (host.cordoned, host.cordoned_by) == (True, ())


@pytest.mark.parametrize(
    ("moves", "cordoned", "reasons"),
    [
        (["+a", "+a", "-a"], False, ()),
        (["+a", "-b"], True, ("a",)),
        (["-a"], False, ()),
        (["+a", "human uncordons", "-a"], False, ()),
        (["+a", "+b", "human uncordons", "-a"], False, ("b",)),
        (["+a", "human uncordons", "+b"], True, ("b",)),
        (["+a", "human uncordons", "+b", "-a"], True, ("b",)),
        (["human cordons", "+a", "human uncordons", "-a"], False, ()),
        (["human cordons", "-a"], True, ()),
    ],
    ids=[
        "twice",
        "not its own",
        "never cordoned",
        "human opens",
        "human opens two",
        "new fault after a human",
        "old fault after a human",
        "human takes theirs back",
        "nothing of ours",
    ],
)
def test_people_have_the_last_word(moves: list[str], cordoned: bool, reasons: tuple[str, ...]) -> None:
    """What people did to a host is never undone by a reason that clears."""
    host = _after(node(), *moves)
    assert (host.cordoned, host.cordoned_by) == (cordoned, reasons)


def test_a_decision_on_an_old_state_is_refused() -> None:
    """Each change carries the version it was decided on, so that two at once cannot overwrite each other."""
    for change in (hosts.with_reason, hosts.without_reason):
        patch = change(views.host(node(cordoned=True, reasons="a")), "a")
        assert patch["metadata"]["resourceVersion"] == "7"
