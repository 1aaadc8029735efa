"""What is wrong with the variables of hosts, all of it, before a host is touched; for validate.yml."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

Variables = Mapping[str, Any]

SECRET = re.compile(r"(token|password|secret|key)s?$")
"""Names of variables that are never shown."""

SAME_IN_POOL = (
    "rdma_active_mtu", "rdma_ecn", "rdma_mtu", "rdma_priority", "rdma_tos", "rdma_trust", "rdma_write_ordering",
)  # fmt: skip
"""What both ends of every connection must have alike. Source: nccl#1524; NCCL user guide, PCI relaxed ordering."""


class FilterModule:
    """The filters of this file, as Ansible looks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"misfits": misfits, "contradictions": contradictions, "public": public}


def public(given: Variables) -> dict[str, Any]:
    """Variables without secrets."""
    return {name: value for name, value in given.items() if not SECRET.search(name)}


def misfits(given: Variables, options: Mapping[str, Mapping[str, Any]], role: str) -> list[str]:
    """What of one host's variables the role would not take, a sentence each.

    Args:
        given: variables that begin with the role's name, without its defaults.
        options: of the role's argument_specs.
    """
    found = [_stranger(name, list(options), role) for name in given if name not in options]
    wrong = [text for name, value in given.items() if name in options for text in _wrong(name, value, options[name])]
    missing = [name for name, option in options.items() if option.get("required") and name not in given]
    return [*found, *wrong, *(f"{name} — is missing — role {role} needs it — set it" for name in missing)]


def contradictions(hosts: Mapping[str, Variables]) -> list[str]:
    """What hosts say against each other or against themselves, a sentence each.

    Args:
        hosts: variables of each host, defaults of roles included.
    """
    addresses = [
        (name, f"{one.get('ansible_host', name)} port {one.get('ansible_port', 22)}") for name, one in hosts.items()
    ]
    return [
        *_twice("address", addresses),
        *_twice("rail address", _rail_addresses(hosts)),
        *_differ(hosts),
        *(said for name, one in hosts.items() for said in _alone(name, one)),
    ]


def _rail_addresses(hosts: Mapping[str, Variables]) -> Iterator[tuple[str, str]]:
    for name, one in hosts.items():
        rails = one.get("rdma_rails", [])
        for rail in rails if isinstance(rails, list) else ():
            if isinstance(rail, dict) and rail.get("address"):
                yield name, str(rail["address"]).partition("/")[0]


def _stranger(name: str, options: list[str], role: str) -> str:
    near = difflib.get_close_matches(name, options, n=1, cutoff=0.6)
    fix = f"did you mean {near[0]}?" if near else f"see the README of role {role}"
    return f"{name} — is no variable of role {role} — {fix}"


def _wrong(name: str, value: Any, option: Mapping[str, Any]) -> list[str]:
    """What is wrong with one variable; on its own, for the validator leaves off at the first that it cannot convert."""
    if said := _yaml_made(name, value, option):
        return [said]
    found = ArgumentSpecValidator({name: {**option, "required": False}}).validate({name: value})
    return [f"{name} — {_masked(name, value, text)} — correct it" for text in found.error_messages]


def _yaml_made(name: str, value: Any, option: Mapping[str, Any]) -> str:
    """A word that YAML took for something else, which Ansible would turn into other text without a sound."""
    kind, truth = option.get("type", "str"), isinstance(value, bool)
    if kind == "str" and isinstance(value, bool | int | float):
        made = "yes or no" if truth else "a number"
        return f"{name} — is {_shown(name, value)}: YAML read {made} — a word is meant — put it in quotes"
    if kind in ("int", "float") and truth:
        return f"{name} — is {_shown(name, value)}: YAML read yes or no — a number is meant — write the number"
    return ""


def _shown(name: str, value: Any) -> str:
    return "a secret" if SECRET.search(name) else json.dumps(value, default=str)


def _masked(name: str, value: Any, text: str) -> str:
    return text.replace(str(value), "…") if SECRET.search(name) else text


def _twice(what: str, places: Iterable[tuple[str, str]]) -> Iterator[str]:
    seen: dict[str, list[str]] = {}
    for name, place in places:
        seen.setdefault(place, []).append(name)
    for place, names in seen.items():
        if len(names) > 1:
            who = " and ".join(sorted(names))
            yield f"hosts {who} — share {what} {place} — each has its own — correct it in the inventory"


def _differ(hosts: Mapping[str, Variables]) -> Iterator[str]:
    pools: dict[str, dict[str, Variables]] = {}
    for name, one in hosts.items():
        pools.setdefault(str(one.get("host_pool", "")), {})[name] = one
    for pool, members in sorted(pools.items()):
        for variable in SAME_IN_POOL:
            values: dict[str, list[str]] = {}
            for name, one in members.items():
                if variable in one:
                    values.setdefault(json.dumps(one[variable], default=str), []).append(name)
            if len(values) > 1:
                said = ", ".join(f"{value} on {min(names)}" for value, names in sorted(values.items()))
                yield f"pool {pool} — has {variable} {said} — one value for the whole pool — set it once, for the pool"


def _alone(name: str, one: Variables) -> Iterator[str]:
    """What one host's variables say against each other."""
    fabric = one.get("host_fabric")
    if fabric and one.get("rdma_fabric", fabric) != fabric:
        yield (
            f"host {name} — rdma_fabric is {one['rdma_fabric']}, its pool's fabric is {fabric} — they are one thing — "
            "drop rdma_fabric"
        )
    if one.get("kubelet_memory_policy") == "Static" and not one.get("kubelet_reserved_memory"):
        yield (
            f"host {name} — kubelet_memory_policy is Static without kubelet_reserved_memory — kubelet would not start "
            "— reserve memory for each NUMA node"
        )
