"""The addresses of one lab: a /16 of its own, or loopback ports where the host gives us no network namespace."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network

from infra.errors import ConfigError
from lab.cluster.hosts import FIRST, Host

FIRST_OCTET = 10
"""Labs live in 10.0.0.0/8. Source: RFC 1918; the other two ranges hold fewer than 254 networks of this size."""

OCTETS = range(20, 250)
"""Second octets that a lab may take; the ends of the range are what other software reaches for first."""

LINK_BITS = 29
"""Length of the link's prefix (bits): room for the machine and five hosts."""

LINK_END = "eth0"
"""Name of the link's end in the lab (interface)."""

POD_BITS = 20
"""Length of the prefix of one host's pods (bits): 4,094 addresses, four such hosts in all pods' /18."""

SIMULATED_PORTS = range(21000, 29000, 20)
"""First ports of the blocks that a simulated lab may take on loopback; below Linux's ephemeral ports."""

SIMULATED_PARTS = 8
"""Ports that a simulated lab listens on (count)."""


@dataclass(frozen=True)
class Ports:
    """Where each part listens (TCP ports)."""

    etcd: int = 2379
    etcd_peer: int = 2380
    etcd_metrics: int = 2381
    api: int = 6443
    kube_controller_manager: int = 10257
    kube_scheduler: int = 10259
    kwok: int = 10247
    fleet: int = 10246
    kubelet: int = 10250
    kubelet_health: int = 10248
    kube_proxy_health: int = 10256
    kube_proxy_metrics: int = 10249
    coredns_health: int = 8080
    coredns_metrics: int = 9153
    containerd_metrics: int = 1338
    ssh: int = 2222

    @classmethod
    def on_loopback(cls, first: int) -> Ports:
        """The ports of a simulated lab: one block, so that two labs never meet."""
        return cls(*range(first, first + SIMULATED_PARTS))


@dataclass(frozen=True)
class Network:
    """All addresses of one lab.

    Args:
        octet: second octet of the lab's own /16.
        simulated: no namespace; the parts listen on loopback.
        ports: where each part listens.
    """

    octet: int
    simulated: bool = False
    ports: Ports = Ports()

    def _address(self, third: int, fourth: int) -> str:
        return f"{FIRST_OCTET}.{self.octet}.{third}.{fourth}"

    @property
    def whole(self) -> IPv4Network:
        """Everything that belongs to this lab."""
        return IPv4Network(f"{self._address(0, 0)}/16")

    @property
    def host_ip(self) -> str:
        """The machine's end of the link."""
        return self._address(0, 1)

    @property
    def node_ip(self) -> str:
        """The lab's end of the link, that of its first host: API server and cluster DNS answer here."""
        return "127.0.0.1" if self.simulated else self.address_of(FIRST)

    def address_of(self, host: Host) -> str:
        """Address of a real host; the first one's is the node address."""
        return self._address(0, 2 + host.number)

    @property
    def pods(self) -> str:
        """Addresses of pods on real hosts."""
        return f"{self._address(64, 0)}/18"

    def pods_of(self, host: Host) -> str:
        """Addresses of pods on one real host."""
        return f"{self._address(64 + 2 ** (24 - POD_BITS) * host.number, 0)}/{POD_BITS}"

    @property
    def services(self) -> str:
        """Addresses of Services."""
        return f"{self._address(128, 0)}/18"

    @property
    def kubernetes_service_ip(self) -> str:
        """Address of the Service ``kubernetes``, by convention the first of all."""
        return self._address(128, 1)

    @property
    def simulated_pods(self) -> str:
        """Addresses of pods on simulated hosts; nothing answers there."""
        return f"{self._address(192, 1)}/18"

    @property
    def api_url(self) -> str:
        """Where clients find the API server."""
        return f"https://{self.node_ip}:{self.ports.api}"


def octets(lab_id: str) -> Iterator[int]:
    """All octets, each once, in an order of this lab's own; so a lab finds the same one again."""
    start = int(lab_id, 16) % len(OCTETS)
    yield from (OCTETS[(start + step) % len(OCTETS)] for step in range(len(OCTETS)))


def choose_octet(lab_id: str, taken: Iterable[str], kept: int | None = None) -> int:
    """Pick the lab's network.

    Args:
        lab_id: decides where the search begins.
        taken: networks and addresses that something else uses, such as routes and name servers.
        kept: the octet of the last start; wins if it is still free.
    Raises:
        ConfigError: all networks are taken.
    """
    others = [ip_network(text, strict=False) for text in taken]
    candidates = ([kept] if kept is not None else []) + list(octets(lab_id))
    for octet in candidates:
        if not any(Network(octet).whole.overlaps(other) for other in others if other.version == 4):
            return octet
    raise ConfigError(
        f"lab {lab_id} — found a route or address in each of 10.{OCTETS.start}.0.0/16 to 10.{OCTETS.stop - 1}.0.0/16 "
        "— one free /16 is needed — remove a route (`ip route`) and start again"
    )


def is_free(port: int) -> bool:
    """True when nothing listens on this loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_ports(lab_id: str, kept: int | None = None) -> int:
    """First port of a block in which nothing listens yet.

    Args:
        lab_id: decides where the search begins.
        kept: the block of the last start; wins if it is still free.
    Raises:
        ConfigError: every block has a port in use.
    """
    start = int(lab_id, 16) % len(SIMULATED_PORTS)
    blocks = [SIMULATED_PORTS[(start + step) % len(SIMULATED_PORTS)] for step in range(len(SIMULATED_PORTS))]
    for first in blocks if kept is None else [kept, *blocks]:
        if all(is_free(first + offset) for offset in range(SIMULATED_PARTS)):
            return first
    raise ConfigError(
        f"lab {lab_id} — found no {SIMULATED_PARTS} free ports in a row between {SIMULATED_PORTS.start} and "
        f"{SIMULATED_PORTS.stop} — a simulated lab needs them on 127.0.0.1 — end what listens there (`ss -ltnp`)"
    )
