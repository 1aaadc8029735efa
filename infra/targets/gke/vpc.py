"""Networks of a GKE cluster that the stack makes: the cluster's own, and one for each further interface of a host.

Source: cluster-toolkit 1.95.0, examples/gke-a4 (profile of the RoCE network, one subnetwork for each GPU) and
examples/gke-a3-megagpu (a network for each GPU, MTU 8244).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from infra.catalog.shapes import Nic
from infra.config.clouds import GpuNetwork
from infra.config.clouds.gcp import GcpMade
from infra.plan.facts import Plan, PoolPlan
from infra.plan.resources import Ref, Resource

NETWORK = "cloud-network"
"""Pulumi's name of the cluster's own network."""
HOSTS = "cloud-hosts"
"""Pulumi's name of the part of it that hosts are in."""
WAY_OUT = "cloud-way-out"
"""Pulumi's name of how hosts without public address reach the internet."""
RDMA = "cloud-rdma"
"""Pulumi's name of the RoCE network of all GPUs."""

SIXTEENTH = 4
"""Bits by which the network of an interface is smaller than all of ``further``."""

MTU = {"gpu-nic": 8_244, "gvnic": 8_896}
"""Bytes of a packet. Source: as above."""


def widest(plan: Plan) -> PoolPlan | None:
    """The pool with a fabric whose hosts have most interfaces: all others have the first of them."""
    pools = [pool for pool in plan.pools if pool.shape and pool.pool.fabric != "none"]
    return max(pools, key=lambda pool: len(pool.shape.nics) if pool.shape else 0, default=None)


def named(plan: Plan) -> Iterator[GpuNetwork]:
    """Names of network and subnetwork of each interface beside the first, in their order."""
    pool = widest(plan)
    for nic in pool.shape.nics if pool and pool.shape else ():
        subnetwork = f"{plan.cluster}-{nic.kind}-{nic.card}"
        yield GpuNetwork(network=f"{plan.cluster}-rdma" if nic.kind == "rdma" else subnetwork, subnetwork=subnetwork)


def resources(plan: Plan, made: GcpMade, project: str) -> Iterator[Resource]:
    """The cluster's network with its way out, then those of the interfaces beside the first."""
    yield from _own(plan, made)
    pool = widest(plan)
    if pool is None or pool.shape is None:
        return
    kinds = {nic.kind for nic in pool.shape.nics}
    if "rdma" in kinds:
        profile = f"projects/{project}/global/networkProfiles/{pool.pool.zone}-vpc-roce"
        props = {"name": f"{plan.cluster}-rdma", "autoCreateSubnetworks": False, "networkProfile": profile,
                 "mtu": 8_896}  # fmt: skip
        yield Resource("gcp:compute/network:Network", RDMA, props)
    parts = IPv4Network(made.further).subnets(SIXTEENTH)
    for nic, part in zip(pool.shape.nics, parts, strict=False):
        yield from _further(plan, nic, part)


def _own(plan: Plan, made: GcpMade) -> Iterator[Resource]:
    yield _network(NETWORK, plan.cluster, 1_460)
    ranges = [
        {"rangeName": "pods", "ipCidrRange": made.pods},
        {"rangeName": "services", "ipCidrRange": made.services},
    ]
    props: dict[str, Any] = {
        "name": f"{plan.cluster}-hosts",
        "network": Ref(NETWORK, "selfLink"),
        "region": plan.region,
        "ipCidrRange": made.network,
        "secondaryIpRanges": ranges,
        "privateIpGoogleAccess": True,
    }
    yield Resource("gcp:compute/subnetwork:Subnetwork", HOSTS, props)
    router = {"region": plan.region, "network": Ref(NETWORK, "selfLink")}
    yield Resource("gcp:compute/router:Router", "cloud-router", router)
    nat = {
        "router": Ref("cloud-router", "name"),
        "region": plan.region,
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
    }
    yield Resource("gcp:compute/routerNat:RouterNat", WAY_OUT, nat)


def _further(plan: Plan, nic: Nic, part: IPv4Network) -> Iterator[Resource]:
    name = f"cloud-{nic.kind}-{nic.card}"
    if nic.kind != "rdma":
        yield _network(f"{name}-network", f"{plan.cluster}-{nic.kind}-{nic.card}", MTU[nic.kind])
        # On such a network hosts hear each other only if it is said; the RoCE network has no firewall.
        inside = {
            "network": Ref(f"{name}-network", "selfLink"),
            "direction": "INGRESS",
            "sourceRanges": [str(part)],
            "allows": [{"protocol": "all"}],
        }
        yield Resource("gcp:compute/firewall:Firewall", f"{name}-inside", inside)
    props = {
        "name": f"{plan.cluster}-{nic.kind}-{nic.card}",
        "network": Ref(RDMA if nic.kind == "rdma" else f"{name}-network", "selfLink"),
        "region": plan.region,
        "ipCidrRange": str(part),
    }
    yield Resource("gcp:compute/subnetwork:Subnetwork", name, props)


def _network(name: str, called: str, mtu: int) -> Resource:
    return Resource("gcp:compute/network:Network", name, {"name": called, "autoCreateSubnetworks": False, "mtu": mtu})
