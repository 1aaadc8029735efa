"""What a kubelet's configuration and its state files have otherwise than wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


class FilterModule:
    """The filters of this file, as Ansible looks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {
            "kubelet_differences": kubelet_differences,
            "kubelet_overlaid": kubelet_overlaid,
            "kubelet_patch": kubelet_patch,
        }


def kubelet_differences(
    wanted: Mapping[str, Any], now: Mapping[str, Any], policies: Mapping[str, str], states: Iterable[Mapping[str, Any]]
) -> list[str]:
    """What differs, a part of a sentence each: ``cpuManagerPolicy is none, and static is wanted``.

    Args:
        wanted: key of the configuration → value; an empty one: the key is not to be there.
        now: the configuration that is there.
        policies: state file → policy it is to be of.
        states: what reading the policy of each state file gave, where a file that is not there is no fault.
    """
    keys = [
        f"{key} is {now.get(key, 'not set')}, and {'nothing' if value is None else value} is wanted"
        for key, value in kubelet_patch(wanted).items()
        if now.get(key) != value
    ]
    files = [
        f"{state['item']} is of {state['stdout']}, and {policies[state['item']]} is wanted"
        for state in states
        if state.get("stdout") and state["stdout"] != policies[state["item"]]
    ]
    return keys + files


def kubelet_overlaid(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with what is wanted; what is to be empty is not in it."""
    return {key: value for key, value in {**now, **kubelet_patch(wanted)}.items() if value is not None}


def kubelet_patch(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch, in which null takes a key away. Source: RFC 7396."""
    return {key: value or None for key, value in wanted.items()}
