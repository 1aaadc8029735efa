"""The lab's real hosts: each has a container runtime and a node agent of its own, all else they share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """One real host.

    Args:
        name: of its node.
        number: its place in the lab's network.
    """

    name: str
    number: int

    def part(self, program: str) -> str:
        """Name of its part of that kind; the first host's carry the plain names."""
        return f"{program}-{self.number}" if self.number else program

    @property
    def containerd_socket(self) -> str:
        """Inside the lab's own /run, so that a dead containerd never leaves one behind."""
        return f"/run/{self.part('containerd')}/containerd.sock"


HOSTS = (Host("lab-0", 0), Host("lab-1", 1))
"""All of them: two, so that one can be drained or lost while the other serves."""

FIRST = HOSTS[0]
"""The host whose name and address the parts take that there is only one of."""

PROGRAMS = ("containerd", "kubelet")
"""What each host has of its own; also the names of their folders below the state folder."""
