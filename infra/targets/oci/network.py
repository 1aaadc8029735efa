"""The network of an OKE cluster that the stack makes: hosts, API server and load balancers, each with what it may hear.

Source: OKE, network resource configuration (ports 6443 and 12250 of the API server, node ports, path discovery).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import islice
from typing import Any

from infra.config.clouds import Oci
from infra.config.clouds.oci import OciMade
from infra.plan.facts import Plan
from infra.plan.resources import Lifecycle, Ref, Resource

VCN = "cloud-network"
"""Pulumi's name of the whole network."""
HOSTS = "cloud-hosts"
"""Pulumi's name of the part that hosts are in."""
API = "cloud-api"
"""Pulumi's name of the part that the API server is in."""
DOORS = "cloud-doors"
"""Pulumi's name of the part that load balancers are in."""
HOST_GROUP = "cloud-hosts-group"
"""Pulumi's name of the security group of hosts."""
API_GROUP = "cloud-api-group"
"""Pulumi's name of the security group of the API server."""

EVERYWHERE = "0.0.0.0/0"
_RULE = "oci:Core/networkSecurityGroupSecurityRule:NetworkSecurityGroupSecurityRule"
ALL, TCP, ICMP = "all", "6", "1"
"""Protocols by their number. Source: OCI API, SecurityRule."""


def _hears(group: str, name: str, source: str | Ref, ports: tuple[int, int] | None, protocol: str = TCP) -> Resource:
    """A rule by which a group hears a source: another group, or a network."""
    props: dict[str, Any] = {
        "networkSecurityGroupId": Ref(group),
        "direction": "INGRESS",
        "protocol": protocol,
        "source": source,
        "sourceType": "NETWORK_SECURITY_GROUP" if isinstance(source, Ref) else "CIDR_BLOCK",
    }
    if ports:
        props["tcpOptions"] = {"destinationPortRange": {"min": ports[0], "max": ports[1]}}
    if protocol == ICMP:
        props["icmpOptions"] = {"type": 3, "code": 4}
    return Resource(_RULE, f"{group}-hears-{name}", props)


def _speaks(group: str, name: str, to: str | Ref) -> Resource:
    """A rule by which a group may say anything to another, or to a network."""
    props = {
        "networkSecurityGroupId": Ref(group),
        "direction": "EGRESS",
        "protocol": ALL,
        "destination": to,
        "destinationType": "NETWORK_SECURITY_GROUP" if isinstance(to, Ref) else "CIDR_BLOCK",
    }
    return Resource(_RULE, f"{group}-speaks-{name}", props)


def resources(plan: Plan, oci: Oci, made: OciMade) -> Iterator[Resource]:
    """The network with its ways out, three parts, two groups and what they hear."""
    own = {"compartmentId": oci.compartment, "vcnId": Ref(VCN)}
    whole = {"compartmentId": oci.compartment, "cidrBlocks": [made.network], "displayName": plan.cluster}
    yield Resource("oci:Core/vcn:Vcn", VCN, whole)
    yield Resource("oci:Core/internetGateway:InternetGateway", "cloud-internet", own)
    yield Resource("oci:Core/natGateway:NatGateway", "cloud-way-out", own)
    for name, gateway in (("cloud-public-routes", "cloud-internet"), ("cloud-private-routes", "cloud-way-out")):
        rules = [{"destination": EVERYWHERE, "destinationType": "CIDR_BLOCK", "networkEntityId": Ref(gateway)}]
        yield Resource("oci:Core/routeTable:RouteTable", name, {**own, "routeRules": rules})
    # A part without a list of its own gets one that lets the world in by ssh; load balancers of the cluster add to it.
    grown = Lifecycle(ignore=("ingressSecurityRules", "egressSecurityRules"))
    yield Resource("oci:Core/securityList:SecurityList", "cloud-closed", own, lifecycle=grown)
    yield from _parts(own, made)
    for group in (HOST_GROUP, API_GROUP):
        yield Resource("oci:Core/networkSecurityGroup:NetworkSecurityGroup", group, {**own, "displayName": group})
    yield from _rules(made)


def _networks(made: OciMade) -> tuple[IPv4Network, IPv4Network, IPv4Network]:
    """Of hosts: the first half; of load balancers and API server: the first 128ths of the other."""
    hosts, rest = IPv4Network(made.network).subnets(1)
    doors, api = islice(rest.subnets(6), 2)
    return hosts, doors, api


def _parts(own: dict[str, Any], made: OciMade) -> Iterator[Resource]:
    hosts, doors, api = _networks(made)
    opened = bool(made.api_from)
    for name, cidr, public in ((HOSTS, hosts, False), (API, api, opened), (DOORS, doors, True)):
        table = Ref("cloud-public-routes" if public else "cloud-private-routes")
        props = {
            **own,
            "cidrBlock": str(cidr),
            "displayName": name,
            "prohibitPublicIpOnVnic": not public,
            "routeTableId": table,
            "securityListIds": [Ref("cloud-closed")],
        }
        yield Resource("oci:Core/subnet:Subnet", name, props)


def _rules(made: OciMade) -> Iterator[Resource]:
    """Hosts among themselves may everything, both ways; the API server answers hosts and who is named."""
    doors = str(_networks(made)[1])
    yield _hears(HOST_GROUP, "hosts", Ref(HOST_GROUP), None, ALL)
    yield _hears(HOST_GROUP, "api", Ref(API_GROUP), None, ALL)
    yield _hears(HOST_GROUP, "doors", doors, (30_000, 32_767))
    yield _hears(HOST_GROUP, "doors-health", doors, (10_256, 10_256))
    yield _hears(HOST_GROUP, "paths", EVERYWHERE, None, ICMP)
    yield _speaks(HOST_GROUP, "hosts", Ref(HOST_GROUP))
    yield _speaks(HOST_GROUP, "everybody", EVERYWHERE)
    yield _hears(API_GROUP, "hosts", Ref(HOST_GROUP), (6_443, 6_443))
    yield _hears(API_GROUP, "hosts-tunnel", Ref(HOST_GROUP), (12_250, 12_250))
    for index, cidr in enumerate(made.api_from):
        yield _hears(API_GROUP, f"people-{index}", cidr, (6_443, 6_443))
    yield _speaks(API_GROUP, "hosts", Ref(HOST_GROUP))


RULES = (f"{HOST_GROUP}-hears-api", f"{HOST_GROUP}-speaks-everybody", f"{API_GROUP}-hears-hosts-tunnel")
"""Rules without which no host joins."""
