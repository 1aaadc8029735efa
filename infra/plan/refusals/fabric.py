"""RW-301, RW-303, RW-501: fabrics that pools ask for as nobody serves them, and what two owners would write."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.fabrics.functions import ROOT_DEVICES
from infra.catalog.fabrics.images import OFED, PARTS
from infra.config.mistakes import nearest
from infra.config.network import Network
from infra.plan.charts import chart_of
from infra.plan.fabric.access import ways_of
from infra.plan.fabric.policies import knows_node_policies, sections, served
from infra.plan.fabric.rails import networks_of
from infra.plan.fabric.release import CHART
from infra.plan.facts import ModelPlan, Plan, PoolPlan, Refusal
from infra.plan.refusals.network import check_addresses, check_blocks, check_names
from infra.plan.refusals.wiring import check_image

LINKS = {"roce": "ethernet", "efa": "ethernet", "infiniband": "infiniband"}
"""Fabric → what its ports speak."""

MELLANOX_DRIVER = "mlx5_core"
"""Kernel driver that the Network Operator's one takes the place of. Source: doca-driver."""


def check(plan: Plan, mistaken: frozenset[str], *, lock: str, has_lock: bool) -> Iterator[Refusal]:
    """Yield everything about the fabrics of a stack that is certain to fail, each with what to do.

    Args:
        mistaken: what of the spec is there and wrong, such as ``pools.large``.
    """
    for pool in plan.pools:
        if f"pools.{pool.name}" not in mistaken:
            yield from _pool(pool, plan)
        if pool.access:
            yield from check_names(pool)
            yield from check_addresses(pool)
    yield from check_blocks(plan)
    yield from _same_leaf(plan)
    for model in plan.models:
        yield from _model(model)
    yield from _tenants(plan)
    if served(plan):
        yield from check_sections(plan, chart_of(plan, CHART).version)
    for part, image in (plan.pools[0].parts if plan.pools else {}).items():
        yield from check_image(image, f"fabric.images.{part}", lock=lock, has_lock=has_lock)


def check_sections(plan: Plan, version: str) -> Iterator[Refusal]:
    """Yield pools that want one section of the cluster's NIC policy each in its own way, or a driver of no version.

    Args:
        version: of the Network Operator.
    """
    if any(pool.ownership.ofed == "operator" for pool in served(plan)) and version.removeprefix("v") not in OFED:
        found = f"{version!r}, whose own version of the NIC driver we do not know"
        fix = f"set it to one of {', '.join(OFED)}, or choose an ownership whose OFED is the hosts'"
        yield Refusal("RW-302", "charts.network-operator.version", found, fix)
    pools = served(plan)
    if knows_node_policies(version) or len(pools) < 2:
        return
    first, *others = pools
    for pool in others:
        mine, theirs = sections(plan, pool, version), sections(plan, first, version)
        if differing := sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)):
            found = f"{', '.join(differing)} of pool {first.name!r} too, and Network Operator {version} has one of each"
            fix = "give both pools the same network, or set charts.network-operator.version to 26.4.0 or later"
            yield Refusal("RW-501", f"pools.{pool.name}.network", found, fix)


def _refuse(pool: PoolPlan, key: str, found: str, fix: str, rule: str = "RW-303") -> Refusal:
    return Refusal(rule, f"pools.{pool.name}.{key}", found, fix)


def _pool(pool: PoolPlan, plan: Plan) -> Iterator[Refusal]:
    network = pool.pool.network
    if pool.pool.fabric == "none":
        if network != Network():
            yield _refuse(pool, "network", "of a pool with fabric: none", "leave it out, or name the fabric")
        return
    # Machine types that their target does not sell, or whose fabric is another one, are refused by themselves.
    is_sold = pool.shape.fabric == pool.pool.fabric if pool.shape else not pool.pool.shape
    if pool.access is None and is_sold:
        found = f"{pool.pool.fabric!r}, nobody serves it on target {pool.target.name}"
        yield _refuse(pool, "fabric", found, "set it to none, or choose other hosts", "RW-301")
    if pool.access is None:
        return
    yield from _mode(pool)
    if network.link and network.link != LINKS[pool.pool.fabric]:
        found = f"{network.link!r}, ports of fabric {pool.pool.fabric} speak {LINKS[pool.pool.fabric]}"
        yield _refuse(pool, "network.link", found, "correct the fabric, or leave it out; one pool has one kind")
    yield from _mtu(pool)
    yield from _partition(pool, plan)
    yield from _uplinks(pool)


def _mode(pool: PoolPlan) -> Iterator[Refusal]:
    network, access = pool.pool.network, pool.access
    if network.mode and access and network.mode != access.mode:
        modes = [str(way.mode) for way in ways_of(pool.pool, pool.target.name, pool.shape) if way.mode != "cloud"]
        found = f"{network.mode!r} on target {pool.target.name} with fabric {pool.pool.fabric}"
        fix = nearest(network.mode, modes) if modes else "leave it out, the cloud has its own way"
        yield _refuse(pool, "network.mode", found, fix)
    elif access and access.mode == "sriov" and network.functions is None and not access.externally_managed:
        found = "missing, and with sriov each pod takes one on every rail"
        yield _refuse(pool, "network.functions", found, "write how many pods with the fabric one host has at most")
    elif access and access.externally_managed and (network.functions or 1) > 1:
        found = f"{network.functions}, the cloud makes 1 on each rail"
        yield _refuse(pool, "network.functions", found, "leave it out")


def _mtu(pool: PoolPlan) -> Iterator[Refusal]:
    mtu, access = pool.pool.network.mtu, pool.access
    if mtu is None or access is None:
        return
    lowest, highest = access.mtus
    who = f"the {pool.pool.fabric} fabric of target {pool.target.name}"
    if not highest:
        yield _refuse(pool, "network.mtu", f"{mtu}, nobody can set it on {who}", "leave it out")
    elif lowest == highest != mtu:
        yield _refuse(pool, "network.mtu", f"{mtu}, {who} has {highest}", f"leave it out, or set it to {highest}")
    elif not lowest <= mtu <= highest:
        yield _refuse(pool, "network.mtu", f"{mtu}, {who} takes {lowest} to {highest}", f"set it to {access.mtu}")


def _partition(pool: PoolPlan, plan: Plan) -> Iterator[Refusal]:
    if not pool.pool.network.partition:
        return
    if pool.pool.fabric != "infiniband":
        found = f"{pool.pool.network.partition!r} with fabric {pool.pool.fabric}; partitions are InfiniBand's"
        yield _refuse(pool, "network.partition", found, "leave it out")
    elif not plan.fabric.ufm_secret:
        found = f"missing, and pool {pool.name!r} has a partition that the fabric's manager has to know"
        yield Refusal("RW-303", "fabric.ufm_secret", found, "name the Secret with its address and token")


def _uplinks(pool: PoolPlan) -> Iterator[Refusal]:
    """A driver that is reloaded takes the host's own network along (network-operator#2176)."""
    if pool.ownership.ofed != "operator":
        return
    cut = [machine.name for machine in pool.machines if machine.uplink_driver == MELLANOX_DRIVER]
    if cut:
        more = f" and {len(cut) - 1} more" if len(cut) > 1 else ""
        found = f"{MELLANOX_DRIVER} on {cut[0]}{more}, and the Network Operator reloads that driver on ownership "
        fix = "choose an ownership whose OFED is the hosts', or give these machines another NIC for their own traffic"
        yield _refuse(pool, "machines.uplink_driver", f"{found}{pool.ownership.name!r}", fix, "RW-302")


def _same_leaf(plan: Plan) -> Iterator[Refusal]:
    """Peers on one switch that differ hang (nccl#1524)."""
    seen: dict[str, PoolPlan] = {}
    told = set()
    for pool in plan.pools:
        for leaf in sorted({machine.leaf for machine in pool.machines if machine.leaf and pool.access}):
            other = seen.setdefault(leaf, pool)
            if (mine := _mtu_said(pool)) != (theirs := _mtu_said(other)) and (pool.name, other.name) not in told:
                told.add((pool.name, other.name))
                found = f"{mine}, pool {other.name!r} has {theirs} on the same leaf {leaf!r}"
                yield _refuse(pool, "network.mtu", found, f"set both to {max(mine, theirs)}")


def _mtu_said(pool: PoolPlan) -> int:
    return pool.pool.network.mtu or (pool.access.mtu if pool.access else 0)


def _model(model: ModelPlan) -> Iterator[Refusal]:
    pool, access = model.pool, model.pool.access
    if not model.model.rdma_devices or access is None:
        return
    if access.externally_managed and pool.pool.shape not in ROOT_DEVICES:
        found = f"{model.model.rdma_devices}, and no source says where the NICs of {pool.pool.shape} are"
        yield model.refuse("RW-301", "rdma_devices", found, "leave it out, or choose another machine type")
    for part in pool.missing_parts:
        known = PARTS[part]
        found = f"{model.model.rdma_devices}, and nobody brings {part}, which the fabric of pool {pool.name!r} needs"
        fix = f"write fabric.images.{part}, such as {known.image}@sha256:<digest>, or set fabric.plugins to existing"
        yield model.refuse("RW-301", "rdma_devices", found, fix)
    blocks = pool.pool.network.subnet or pool.pool.network.subnets or access.subnet
    if access.needs_addresses and networks_of(pool) and not blocks:
        found = f"missing, and {pool.pool.fabric} needs an address on each rail of a pod of model {model.name!r}"
        yield _refuse(pool, "network.subnet", found, "name a block that nothing else has an address in", "RW-301")


def _tenants(plan: Plan) -> Iterator[Refusal]:
    """Pods that see each other's devices answer for the same tenants."""
    for pool in plan.pools:
        if pool.access is None or pool.access.mode != "shared":
            continue
        models = [model for model in plan.models if model.pool.name == pool.name and model.model.rdma_devices]
        tenants = {model.name: _tenants_of(plan, model.name) for model in models}
        different = [name for name in tenants if tenants[name] != tenants[models[0].name]]
        if different:
            first, other = models[0].name, different[0]
            who = f"{first!r} answers {_listed(tenants[first])}, {other!r} answers {_listed(tenants[other])}"
            found = f"'shared', so that pods see the devices of all others on their host: {who}"
            fix = "set it to sriov, give each its own pool, or let the same tenants use both"
            yield _refuse(pool, "network.mode", found, fix)


def _tenants_of(plan: Plan, model: str) -> frozenset[str]:
    keys = plan.gateway.keys.values()
    return frozenset(key.tenant for key in keys if key.models is None or model in key.models)


def _listed(tenants: frozenset[str]) -> str:
    return ", ".join(sorted(tenants)) or "nobody"
