"""How many hosts are worked on at the same time, and never of two leaves; for plays that roll."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

PREFIX = "batch_"
"""Groups of the hosts that are meant, one for each leaf; leaves.yml makes them."""


class FilterModule:
    """The filter of this file, as Ansible looks for it."""

    def filters(self) -> dict[str, Callable[..., list[int]]]:
        """By name."""
        return {"batches": batches}


def batches(groups: Mapping[str, Sequence[str]], at_once: int | str) -> list[int]:
    """Sizes of the batches of a play over ``batch_*``, in the order in which Ansible takes its hosts.

    Args:
        groups: all groups and their hosts.
        at_once: most hosts of one leaf at the same time (count); text from a command line too.
    Returns:
        What ``serial`` takes; a single batch of everything when no host is meant.
    Raises:
        ValueError: less than one at a time.
    """
    most = int(at_once)
    if most < 1:
        raise ValueError(f"tune_at_once is {at_once} — one host or more are worked on at a time — set it to 1")
    sizes = []
    for leaf in (hosts for name, hosts in groups.items() if name.startswith(PREFIX)):
        whole, rest = divmod(len(leaf), most)
        sizes += [most] * whole + ([rest] if rest else [])
    return sizes or [1]
