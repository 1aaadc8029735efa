"""The inventory as Ansible reads it: groups, and typed variables of pools and hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infra.catalog.host_tuning import SETTINGS
from infra.config.machines import group_word
from infra.plan.hosts import HostFacts, Rail
from infra.plan.hosts.wanted import fits, value_of
from infra.plan.inventory import HostGroup, Inventory
from infra.plan.labels import LEAF_LABEL

Variables = dict[str, Any]


def listing(inventory: Inventory, root: Path) -> dict[str, Any]:
    """All of it, as ``--list`` of a dynamic inventory prints it.

    Args:
        root: the clone, from which paths of a stack start.
    Source: Ansible, developing dynamic inventory.
    """
    said: dict[str, Any] = {
        name: {"hosts": hosts, "vars": variables} for name, (hosts, variables) in groups(inventory).items()
    }
    hosts = [host.name for host in inventory.hosts]
    said["all"] = {"hosts": hosts, "vars": all_variables(inventory, root)}
    said["_meta"] = {"hostvars": dict(host_variables(inventory))}
    return said


def of_host(inventory: Inventory, name: str, root: Path) -> Variables:
    """All variables of one host, as ``--host`` prints them.

    Raises:
        ConfigError: the stack has no such host.
    """
    host = inventory.host(name)
    pool = next(pool for pool in inventory.pools if pool.name == host.pool)
    return {**all_variables(inventory, root), **pool_variables(pool), **_host(pool, host)}


def groups(inventory: Inventory) -> dict[str, tuple[list[str], Variables]]:
    """Group to its hosts and variables: by pool, board, fabric, leaf and role, each under its name."""
    found: dict[str, tuple[list[str], Variables]] = {}
    for pool in inventory.pools:
        found[_group("pool", pool.name)] = ([], pool_variables(pool))
        for host in pool.hosts:
            for what, word in _places(pool, host):
                found.setdefault(_group(what, word), ([], {}))[0].append(host.name)
    return found


def all_variables(inventory: Inventory, root: Path) -> Variables:
    """Variables of every host."""
    said: Variables = {"host_cluster": inventory.cluster, "host_target": inventory.target}
    if inventory.ssh_config:
        path = root / Path(inventory.ssh_config).expanduser()
        # One word: Ansible splits the arguments itself.
        said["ansible_ssh_common_args"] = f"-F {json.dumps(str(path))} -o BatchMode=yes"
    return said


def pool_variables(pool: HostGroup) -> Variables:
    """Variables of a pool: what it is, and what roles are told beyond their defaults."""
    said: Variables = {
        "host_pool": pool.name,
        "host_role": pool.role,
        "kubelet_taints": [asdict(taint) for taint in pool.taints],
    }
    if not pool.hosts:
        return said
    first = pool.hosts[0]
    said |= {
        "host_board": first.board,
        "host_fabric": first.fabric,
        "host_machine": first.machine,
        "rdma_fabric": first.fabric,
    }
    for setting in SETTINGS:
        value = value_of(setting, first) if setting.variable and fits(setting.scope, first) else None
        # The catalogue's value for this board, fabric or kind of machine; a role's defaults know none of them.
        if value is not None and value != setting.value:
            said[setting.variable] = list(value) if isinstance(value, tuple) else value
    return said


def host_variables(inventory: Inventory) -> Iterator[tuple[str, Variables]]:
    """Each host with what only it has."""
    for pool in inventory.pools:
        for host in pool.hosts:
            yield host.name, _host(pool, host)


def _host(pool: HostGroup, host: HostFacts) -> Variables:
    return {
        **({"ansible_host": host.address} if host.address else {}),
        "host_leaf": host.leaf,
        "host_rack": host.rack,
        "kubelet_labels": {**pool.labels, **({LEAF_LABEL: host.leaf} if host.leaf else {})},
        "rdma_rails": [_rail(rail) for rail in host.rails],
    }


def _rail(rail: Rail) -> Variables:
    # Eight thousand of them: dataclasses.asdict takes ten times as long.
    return {"interface": rail.interface, "pci": rail.pci, "address": rail.address, "gateway": rail.gateway}


def _places(pool: HostGroup, host: HostFacts) -> Iterator[tuple[str, str]]:
    yield "pool", host.pool
    yield "board", host.board
    yield "fabric", host.fabric
    yield "role", pool.role
    if host.leaf:
        yield "leaf", host.leaf


def _group(what: str, word: str) -> str:
    return f"{what}_{group_word(word)}"
