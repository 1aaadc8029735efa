"""Is there room: where the scheduler could put pods, counted from what hosts offer and pods ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runbooks.lib.kubernetes.views import Host, Pod

Amounts = Mapping[str, float]
"""Resources by name."""


def free_on(hosts: Iterable[Host], pods: Iterable[Pod]) -> dict[str, dict[str, float]]:
    """What each host still has to give."""
    free = {host.name: dict(host.allocatable) for host in hosts}
    for pod in pods:
        if pod.host in free and not pod.is_over:
            _take(free[pod.host], pod.requests)
    return free


def without_place(wanted: Sequence[Pod], hosts: Sequence[Host], pods: Iterable[Pod]) -> list[Pod]:
    """Those pods that no host could take as well, first fit in the order given.

    Args:
        hosts: where they may go; hosts that take no pods are left out.
        pods: all that are there, for what they take.
    """
    open_hosts = [host for host in hosts if host.takes_pods]
    free, left = free_on(open_hosts, pods), []
    for pod in wanted:
        place = next((h for h in open_hosts if suits(pod, h) and _fits(pod.requests, free[h.name])), None)
        if place is None:
            left.append(pod)
        else:
            _take(free[place.name], pod.requests)
    return left


def suits(pod: Pod, host: Host) -> bool:
    """Whether a pod may run on a host at all: its node selector and its tolerations allow it."""
    spec = pod.raw["spec"]
    if not spec.get("nodeSelector", {}).items() <= dict(host.labels).items():
        return False
    hard = [taint for taint in host.taints if taint["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(one, taint) for one in spec.get("tolerations", [])) for taint in hard)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return bool(toleration.get("key", taint["key"]) == taint["key"])
    same_value = toleration.get("value", "") == taint.get("value", "")
    return bool(same_value and toleration.get("key") == taint["key"])


def _fits(requests: Amounts, free: Amounts) -> bool:
    return all(amount <= free.get(name, 0.0) for name, amount in requests.items())


def _take(free: dict[str, float], requests: Amounts) -> None:
    for name, amount in requests.items():
        free[name] = free.get(name, 0.0) - amount
