"""Rails of a pool as pods see them: interface on the host, block of addresses, router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_network
from itertools import islice

from infra.catalog.fabrics.functions import ROOT_DEVICES
from infra.config.blocks import Network
from infra.plan.facts import PoolPlan

PORT_PREFIX = "rail"
"""Start of a rail's interface where no machine says its name. Source: our host plays, role rdma, name them so."""


@dataclass(frozen=True, slots=True)
class RailPlan:
    """The k-th rail of every host of a pool, or all of them where they are one network."""

    number: int
    name: str
    """Of its objects in Kubernetes."""
    interface: str
    """Name on every host."""
    devices: tuple[str, ...]
    """PCI addresses of its functions, where they are the same on all hosts."""
    block: Network | None
    """Addresses of its pods; None: they have none."""
    hosts: int
    """Hosts that the addresses are for (count)."""
    addresses: int
    """Addresses of one host's pods (count)."""
    has_gateway: bool
    routed: bool

    @property
    def gateway(self) -> str:
        """Router of a rail that is one network; empty without one."""
        return str(self.block[1]) if self.block and self.has_gateway and not self.routed else ""

    @property
    def host_prefix(self) -> int:
        """Length of a host's own prefix, where each has one (bits): its pods, the leaf, and what no host may have."""
        bits = self.block.max_prefixlen if self.block else 32
        return bits - (1 if self.addresses == 1 else (self.addresses + 2).bit_length())

    @property
    def holds(self) -> int:
        """Hosts that its block has addresses for (count)."""
        if self.block is None:
            return 0
        if self.routed:
            return int(2 ** max(0, self.host_prefix - self.block.prefixlen)) if self._splits else 0
        # Neither the network's own address nor the last one; the router costs the first host's place.
        return max(0, (self.block.num_addresses - 2) // self.addresses - int(self.has_gateway))

    @property
    def _splits(self) -> bool:
        return self.block is not None and self.host_prefix >= self.block.prefixlen


@lru_cache(maxsize=256)
def _parts(block: Network, count: int) -> tuple[Network, ...]:
    """Equal parts of a block; fewer than asked for when it is too small."""
    prefix = block.prefixlen + max(0, count - 1).bit_length()
    if prefix > block.max_prefixlen:
        return ()
    return tuple(islice(block.subnets(new_prefix=prefix), count))


def blocks_of(plan: PoolPlan) -> tuple[Network, ...]:
    """Block of each network in order; empty without addresses, fewer than networks when the spec is mistaken."""
    network, access = plan.pool.network, plan.access
    if access is None or access.attaches == "no":
        return ()
    if network.subnets:
        return network.subnets
    whole = network.subnet or (ip_network(access.subnet) if access.subnet else None)
    return _parts(whole, networks_of(plan)) if whole else ()


def networks_of(plan: PoolPlan) -> int:
    """Networks that pods have interfaces in (count): one for each rail, or one for all."""
    attaches = plan.access.attaches if plan.access else "no"
    return {"no": 0, "rail": plan.rails, "device": 1}[attaches]


def interfaces_of(plan: PoolPlan) -> tuple[str, ...]:
    """Name of each rail's interface: as the spec says, as the first machine has it, or as our plays name them."""
    if plan.pool.network.interfaces:
        return plan.pool.network.interfaces
    if plan.machines and plan.machines[0].rails:
        return tuple(rail.interface for rail in plan.machines[0].rails)
    return tuple(f"{PORT_PREFIX}{number}" for number in range(plan.rails))


def addresses_of(plan: PoolPlan) -> int:
    """Addresses of one host's pods in one network (count); as many as pods with a fabric fit on it."""
    network, access = plan.pool.network, plan.access
    if network.addresses_per_host:
        return network.addresses_per_host
    if access is None or access.asks == "networks":
        return 1
    if access.attaches == "device":
        return plan.rails * (network.functions or 1)
    return (network.functions or 1) if access.asks == "rails" else max(1, plan.board.gpus)


def rails_of(plan: PoolPlan) -> tuple[RailPlan, ...]:
    """Each network that pods have interfaces in, in the order of rails."""
    return tuple(_rails(plan))


def _rails(plan: PoolPlan) -> Iterator[RailPlan]:
    count, names, blocks = networks_of(plan), interfaces_of(plan), blocks_of(plan)
    devices = ROOT_DEVICES.get(plan.pool.shape, ())
    for number in range(count):
        alone = count == 1 and plan.rails > 1
        yield RailPlan(
            number=number,
            name=f"{plan.name}-fabric" if alone else f"{plan.name}-rail{number}",
            interface="" if alone else names[number] if number < len(names) else "",
            devices=devices if alone else (),
            block=blocks[number] if number < len(blocks) else None,
            hosts=plan.pool.hosts,
            addresses=addresses_of(plan),
            has_gateway=plan.pool.network.gateway == "first",
            routed=plan.pool.network.routed,
        )
