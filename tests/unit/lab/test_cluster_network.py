"""A lab gets addresses that nothing else on the machine uses, and keeps them."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from infra.errors import ConfigError
from lab.cluster.hosts import HOSTS
from lab.cluster.network import (
    LINK_BITS,
    OCTETS,
    SIMULATED_PARTS,
    SIMULATED_PORTS,
    Network,
    Ports,
    choose_octet,
    octets,
)

LAB = "f2af6c09"


def test_every_octet_is_tried_once() -> None:
    """The search finds a free network if there is one."""
    assert sorted(octets(LAB)) == list(OCTETS)


@pytest.mark.parametrize(
    "taken",
    [["10.{n}.0.0/16"], ["10.{n}.64.0/24"], ["10.{n}.255.53"], ["172.17.0.0/16", "10.{n}.0.0/30"]],
    ids=["the same network", "a part of it", "a name server in it", "one of several routes"],
)
def test_taken_network_is_passed_over(taken: list[str]) -> None:
    """A route or address inside a candidate rules it out, and the next is taken."""
    first, second = list(octets(LAB))[:2]
    assert choose_octet(LAB, [text.format(n=first) for text in taken]) == second


def test_network_of_last_start_is_kept() -> None:
    """Addresses and certificates stay as long as they are free."""
    kept = list(octets(LAB))[7]
    assert choose_octet(LAB, ["192.0.2.0/24", "::1/128"], kept) == kept


def test_network_of_last_start_is_given_up_when_taken() -> None:
    """A VPN that came meanwhile wins."""
    kept = list(octets(LAB))[7]
    assert choose_octet(LAB, [f"10.{kept}.0.0/16"], kept) == next(octets(LAB))


def test_no_free_network_is_refused_with_what_to_do() -> None:
    """Someone who routes all of 10/8 is told which route to remove."""
    with pytest.raises(ConfigError, match=r"one free /16 is needed — remove a route"):
        choose_octet(LAB, ["10.0.0.0/8"])


def test_ranges_do_not_meet_and_stay_inside() -> None:
    """Link, pods, Services and simulated pods are apart, all inside the lab's own network."""
    network = Network(77)
    ranges = [ip_network(f"{network.host_ip}/{LINK_BITS}", strict=False)]
    ranges += [ip_network(text, strict=False) for text in (network.pods, network.services, network.simulated_pods)]
    assert all(one.subnet_of(network.whole) for one in ranges)
    assert not any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :])
    assert ip_address(network.kubernetes_service_ip) in ranges[2]


def test_hosts_have_addresses_of_their_own() -> None:
    """Each is on the link, and its pods are a part of all pods that meets no other."""
    network = Network(77)
    link = ip_network(f"{network.host_ip}/{LINK_BITS}", strict=False)
    pods = [ip_network(network.pods_of(host)) for host in HOSTS]
    addresses = {network.host_ip, *(network.address_of(host) for host in HOSTS)}
    assert len(addresses) == 1 + len(HOSTS)
    assert all(ip_address(address) in link for address in addresses)
    assert all(one.subnet_of(ip_network(network.pods)) for one in pods)
    assert not any(a.overlaps(b) for i, a in enumerate(pods) for b in pods[i + 1 :])


def test_simulated_lab_listens_on_loopback_only() -> None:
    """Without a network namespace nothing is reachable from elsewhere, and each part has a port of its own."""
    network = Network(77, simulated=True, ports=Ports.on_loopback(SIMULATED_PORTS.start))
    ports = network.ports
    own = {ports.etcd, ports.etcd_peer, ports.etcd_metrics, ports.api, ports.kwok, ports.fleet}
    own |= {ports.kube_controller_manager, ports.kube_scheduler}
    assert network.api_url == f"https://127.0.0.1:{ports.api}"
    assert own == set(range(SIMULATED_PORTS.start, SIMULATED_PORTS.start + SIMULATED_PARTS))
