"""The network of an EKS cluster that the stack makes: a private part of each zone, with its own way out."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from infra.config.clouds.aws import AwsMade
from infra.plan.facts import Plan
from infra.plan.resources import Ref, Resource

VPC = "cloud-network"
"""Pulumi's name of the network."""

EIGHTH = 3
"""Bits by which a zone's part is smaller than the whole: an eighth each, of which the last is for ways out."""


def private(zone: str) -> str:
    """Pulumi's name of the subnet in which hosts and pods of a zone are."""
    return f"cloud-private-{zone}"


def route(zone: str) -> str:
    """Pulumi's name of what connects a zone's hosts to their way out: nothing can join before."""
    return f"cloud-private-{zone}-routed"


def resources(plan: Plan, made: AwsMade) -> Iterator[Resource]:
    """Network, and in each zone a private subnet with a gateway of its own, so that no zone hangs on another."""
    whole = {"cidrBlock": made.network, "enableDnsHostnames": True, "tags": {"Name": plan.cluster}}
    yield Resource("aws:ec2/vpc:Vpc", VPC, whole)
    yield Resource("aws:ec2/internetGateway:InternetGateway", "cloud-internet", {"vpcId": Ref(VPC)})
    out = {"vpcId": Ref(VPC), "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": Ref("cloud-internet")}]}
    yield Resource("aws:ec2/routeTable:RouteTable", "cloud-public-routes", out)
    eighths = list(IPv4Network(made.network).subnets(EIGHTH))
    ways_out = list(eighths[-1].subnets(EIGHTH))
    for zone, hosts, way_out in zip(made.zones, eighths, ways_out, strict=False):
        yield from _way_out(zone, str(way_out))
        yield from _hosts(zone, str(hosts))
    # Images and weights in S3 do not go through the gateways, which are paid by the byte.
    tables = [Ref(f"cloud-private-{zone}-routes") for zone in made.zones]
    s3 = {"vpcId": Ref(VPC), "serviceName": f"com.amazonaws.{plan.region}.s3", "routeTableIds": tables}
    yield Resource("aws:ec2/vpcEndpoint:VpcEndpoint", "cloud-s3", s3)


def _way_out(zone: str, cidr: str) -> Iterator[Resource]:
    """A public subnet with the zone's gateway and with load balancers of the cluster."""
    name = f"cloud-public-{zone}"
    tags = {"kubernetes.io/role/elb": "1", "Name": name}
    props = {"vpcId": Ref(VPC), "cidrBlock": cidr, "availabilityZone": zone, "tags": tags}
    yield Resource("aws:ec2/subnet:Subnet", name, props)
    own = {"subnetId": Ref(name), "routeTableId": Ref("cloud-public-routes")}
    yield Resource("aws:ec2/routeTableAssociation:RouteTableAssociation", f"{name}-routed", own)
    yield Resource("aws:ec2/eip:Eip", f"{name}-address", {"domain": "vpc"})
    gateway = {"subnetId": Ref(name), "allocationId": Ref(f"{name}-address")}
    yield Resource("aws:ec2/natGateway:NatGateway", f"{name}-gateway", gateway, (f"{name}-routed",))


def _hosts(zone: str, cidr: str) -> Iterator[Resource]:
    name = private(zone)
    tags = {"kubernetes.io/role/internal-elb": "1", "Name": name}
    props = {"vpcId": Ref(VPC), "cidrBlock": cidr, "availabilityZone": zone, "tags": tags}
    yield Resource("aws:ec2/subnet:Subnet", name, props)
    routes = [{"cidrBlock": "0.0.0.0/0", "natGatewayId": Ref(f"cloud-public-{zone}-gateway")}]
    yield Resource("aws:ec2/routeTable:RouteTable", f"{name}-routes", {"vpcId": Ref(VPC), "routes": routes})
    own = {"subnetId": Ref(name), "routeTableId": Ref(f"{name}-routes")}
    yield Resource("aws:ec2/routeTableAssociation:RouteTableAssociation", route(zone), own)
