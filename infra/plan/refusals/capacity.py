"""RW-303: hosts that cannot be had as asked: shapes, places, reservations and fabrics that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.shapes import SHAPES, Shape
from infra.config.mistakes import nearest
from infra.plan.facts import PoolPlan, Refusal
from infra.plan.refusals import rules_of_clouds

CLOUDS = frozenset(shape.target for shape in SHAPES.values())
"""Targets whose hosts are chosen by machine type."""

RACK_HOSTS = 18
"""Hosts of one rack, which is one NVLink domain. Source: NVL72: 72 GPUs, four to a host."""


def check(plan: PoolPlan, region: str) -> Iterator[Refusal]:
    """Yield everything about a pool that its cloud would refuse, or that no cloud sells."""
    if plan.target.name not in CLOUDS:
        yield from _of_no_cloud(plan)
        return
    offered = {name: shape for name, shape in SHAPES.items() if shape.target == plan.target.name}
    shape = offered.get(plan.pool.shape)
    if shape is None:
        yield _refuse(plan, "shape", _unknown(plan), _near(plan.pool.shape, list(offered)))
    else:
        yield from _shape(plan, shape)
        yield from _sold(plan, shape, region)
        yield from _had(plan, shape)
        yield from rules_of_clouds.check(plan, shape)
    yield from _booked(plan)
    if plan.pool.supply.made:
        yield from _made(plan)


def _refuse(plan: PoolPlan, key: str, found: str, fix: str) -> Refusal:
    return Refusal("RW-303", f"pools.{plan.name}.{key}", found, fix)


def _unknown(plan: PoolPlan) -> str:
    name = plan.pool.shape
    if not name:
        return f"missing, and hosts of target {plan.target.name} are chosen by it"
    if other := SHAPES.get(name):
        return f"{name!r} is sold on target {other.target}, this stack is on {plan.target.name}"
    return f"{name!r} is no machine type with GPUs of target {plan.target.name} that is known"


def _near(name: str, offered: list[str]) -> str:
    """Families such as ``p6`` are near to all of their members, which edit distance does not see."""
    members = [one for one in offered if name and one.startswith(name)]
    return f"name one of {', '.join(members)}" if members else nearest(name, offered)


def _of_no_cloud(plan: PoolPlan) -> Iterator[Refusal]:
    pool, who = plan.pool, f"a target without machine types ({plan.target.name})"
    if pool.shape:
        yield _refuse(plan, "shape", f"{pool.shape!r} on {who}", "name the board, or set cluster.target to its cloud")
    if pool.supply.kind != "on-demand":
        yield _refuse(plan, "supply", f"{pool.supply.kind!r} on {who}", "leave it out")
    if plan.target.name == "baremetal" and plan.board.arch != "amd64":
        found = f"{plan.board.name!r}, whose trays no host play knows how to tune"
        yield _refuse(plan, "board", found, "choose a cloud that has them, or an HGX board")


def _shape(plan: PoolPlan, shape: Shape) -> Iterator[Refusal]:
    pool = plan.pool
    if pool.board != shape.board:
        yield _refuse(plan, "board", f"{pool.board!r}, {shape.name} has {shape.board}", "leave it out")
    if pool.fabric not in (shape.fabric, "none"):
        found = f"{pool.fabric!r}, hosts of {shape.name} are joined by {shape.fabric}"
        yield _refuse(plan, "fabric", found, f"leave it out, or set it to {shape.fabric} or none")
    # On AKS a scale set is on one fabric, wherever that is; many of its regions have no zones.
    if pool.fabric != "none" and not pool.zone and shape.target != "aks":
        yield _refuse(plan, "zone", "missing, and a fabric does not reach from one zone to another", "name the zone")
    if plan.board.name.startswith("nvl72") and pool.hosts > RACK_HOSTS:
        found = f"{pool.hosts}, a rack of {shape.name} has {RACK_HOSTS}, and NVLink does not reach further"
        yield _refuse(plan, "hosts", found, "make a pool of each rack")


def _sold(plan: PoolPlan, shape: Shape, region: str) -> Iterator[Refusal]:
    """What is booked is there, whatever a list says."""
    if plan.pool.supply.reservation:
        return
    for key, place in (("zone", plan.pool.zone), ("shape", "" if plan.pool.zone else region)):
        if place and shape.is_sold_in(place) is False:
            found = f"{shape.name} is not sold in {place!r} as far as is known"
            fix = f"choose one of {', '.join(shape.places)}, or name a reservation there"
            yield _refuse(plan, key, found, fix)


def _had(plan: PoolPlan, shape: Shape) -> Iterator[Refusal]:
    if plan.pool.supply.kind not in shape.capacity:
        found = f"{plan.pool.supply.kind!r}, {shape.name} is had {' or '.join(shape.capacity)}"
        yield _refuse(plan, "supply.kind", found, "choose one of them")


def _made(plan: PoolPlan) -> Iterator[Refusal]:
    """A reservation that the stack makes."""
    if plan.target.name == "coreweave":
        yield _refuse(plan, "supply.made", "True on CoreWeave, where a contract reserves hosts", "leave it out")
    elif not plan.pool.zone and plan.target.name != "aks":
        yield _refuse(plan, "zone", "missing, and a reservation is in one zone", "name the zone")


def _booked(plan: PoolPlan) -> Iterator[Refusal]:
    pool, supply = plan.pool, plan.pool.supply
    if supply.hosts is not None and pool.hosts > supply.hosts:
        found = f"{pool.hosts}, reservation {supply.reservation!r} holds {supply.hosts}"
        yield _refuse(plan, "hosts", found, f"lower it to {supply.hosts}, or extend the reservation")
    if supply.zone and pool.zone and supply.zone != pool.zone:
        found = f"{pool.zone!r}, reservation {supply.reservation!r} is in {supply.zone!r}"
        yield _refuse(plan, "zone", found, f"set it to {supply.zone}")
