"""RW-303: addresses of rails that overlap, run out or do not belong, and rails that hosts name differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from infra.config.blocks import Network, overlap
from infra.plan.fabric.rails import blocks_of, interfaces_of, networks_of, rails_of
from infra.plan.facts import Plan, PoolPlan, Refusal


@dataclass(frozen=True, slots=True)
class Used:
    """A block that is in use."""

    block: Network
    who: str
    key: str
    """Config key that it stands under."""


def check_names(pool: PoolPlan) -> Iterator[Refusal]:
    """Yield rails whose interface has not one name on all hosts, where something goes by names."""
    names = interfaces_of(pool)
    if pool.pool.network.interfaces:
        if len(names) != pool.rails:
            found = f"{len(names)}, hosts have {pool.rails} rails"
            yield _refuse(pool, "network.interfaces", found, "name each once, in the order of rails")
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            found = f"{twice[0]!r} twice"
            yield _refuse(pool, "network.interfaces", found, "name each once, in the order of rails")
    if not (pool.access and pool.access.attaches == "rail"):
        return
    for machine in pool.machines:
        own = tuple(rail.interface for rail in machine.rails)
        if own and own != names:
            number = next((at for at, pair in enumerate(zip(own, names, strict=False)) if pair[0] != pair[1]), 0)
            found = f"rail {number} is {own[number]!r} on {machine.name} and {names[number]!r} elsewhere"
            fix = "give each rail one name on all hosts of the pool; role rdma names them by their PCI address"
            yield _refuse(pool, "machines", found, fix)
            return


def check_addresses(pool: PoolPlan) -> Iterator[Refusal]:
    """Yield blocks of one pool that are too few, too small, or of no use."""
    network = pool.pool.network
    said = network.subnet is not None or bool(network.subnets)
    if said and not networks_of(pool):
        key = "subnet" if network.subnet is not None else "subnets"
        yield _refuse(pool, f"network.{key}", "of no use, pods get no interface there", "leave it out")
        return
    if network.subnets and len(network.subnets) != networks_of(pool):
        found = f"{len(network.subnets)}, pods have interfaces in {networks_of(pool)} networks"
        yield _refuse(pool, "network.subnets", found, "write one for each, or one block for all under subnet")
        return
    if network.subnet is not None and not blocks_of(pool):
        found = f"{network.subnet} cannot be dealt to {networks_of(pool)} rails"
        yield _refuse(pool, "network.subnet", found, "write a larger one")
        return
    yield from _small(pool)


def _small(pool: PoolPlan) -> Iterator[Refusal]:
    """Every host needs its part: one without addresses starts no pod of the fabric."""
    key = "network.subnets" if pool.pool.network.subnets else "network.subnet"
    for rail in rails_of(pool):
        if rail.block is not None and rail.holds < rail.hosts:
            what = f"a prefix of /{rail.host_prefix}" if rail.routed else f"{rail.addresses} addresses"
            found = f"{rail.block} has {what} for {rail.holds} hosts, the pool has {rail.hosts}"
            yield _refuse(pool, key, found, "write a larger block, or lower network.addresses_per_host")
            return


def check_blocks(plan: Plan) -> Iterator[Refusal]:
    """Yield blocks that have an address in common with another one of the stack."""
    seen = [Used(block, "fabric.used", "fabric.used") for block in plan.fabric.used]
    seen += [used for pool in plan.pools for used in _hosts(pool)]
    told = set()
    for pool in plan.pools:
        key = f"pools.{pool.name}.network.{'subnets' if pool.pool.network.subnets else 'subnet'}"
        for number, block in enumerate(blocks_of(pool)):
            for other in seen:
                if overlap(block, other.block) and (key, other.key) not in told:
                    told.add((key, other.key))
                    found = f"{block} of rail {number} overlaps {other.block} of {other.who}"
                    yield Refusal("RW-303", key, found, "give it a block that nothing else has an address in")
            seen.append(Used(block, f"rail {number} of pool {pool.name!r}", key))


def _hosts(pool: PoolPlan) -> Iterator[Used]:
    """Networks of hosts on their own rails, each once."""
    networks = {rail.address.network for machine in pool.machines for rail in machine.rails if rail.address}
    for network in sorted(networks, key=str):
        yield Used(network, f"the hosts of pool {pool.name!r}", f"pools.{pool.name}.machines")


def _refuse(pool: PoolPlan, key: str, found: str, fix: str) -> Refusal:
    return Refusal("RW-303", f"pools.{pool.name}.{key}", found, fix)
