"""RW-303: hosts are asked for as their cloud has them: interfaces, placement and reservation of each machine type."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from infra.catalog.shapes import SHAPES, Shape
from policies.field import Field, Finding, settle
from policies.resource import Resource

RULE_ID, SEVERITY, NEEDS_STACK = "RW-303", "high", False
TITLE = "hosts are asked for with the interfaces, placement and reservation that their machine type takes"
REMEDIATION = (
    "name the machine type in pools.<name>.shape and let the target lay out its interfaces; leave placement to the "
    "reservation where there is one, and name the one zone that it is in"
)

EFA = ("efa", "efa-only")
"""Interface types with an EFA. Source: EC2, LaunchTemplateInstanceNetworkInterfaceSpecificationRequest."""

Judge = Callable[[Field], Iterator[Finding]]


def check(resource: Resource) -> Iterator[Finding]:
    """Yield a finding for each thing that the cloud would refuse, one that is not known yet beside the others."""
    for judge in JUDGES[resource.type]:
        yield from settle(judge, resource.inputs)


def _of(field: Field, target: str) -> Shape | None:
    """Machine type that a field names; None for one that the catalog does not know.

    Raises:
        Unknown: it can be told at the update only.
    """
    shape = SHAPES.get(str(field.known() or ""))
    return shape if shape and shape.target == target else None


def _cards(template: Field) -> Iterator[Finding]:
    """An EFA on a card that has none refuses the launch (aws-parallelcluster#7143)."""
    shape = _of(template["instanceType"], "eks")
    if shape is None:
        return
    cards = max(nic.card for nic in shape.nics) + 1
    with_efa = {nic.card for nic in shape.nics if nic.kind == "efa-only"}
    for nic in template["networkInterfaces"].each():
        card, kind = int(nic["networkCardIndex"].number() or 0), str(nic["interfaceType"].known() or "interface")
        if card >= cards:
            yield Finding("fail", nic.path, f"network card {card}, {shape.name} has cards 0 to {cards - 1}")
        elif kind in EFA and card not in with_efa:
            found = f"{kind!r} on network card {card} of {shape.name}, which has none: the launch is refused"
            yield Finding("fail", nic["interfaceType"].path, found)


def _places(template: Field) -> Iterator[Finding]:
    """Each place on a card is taken once, and the first is a host's own way to its cluster."""
    nics = list(template["networkInterfaces"].each())
    taken = [(int(nic["networkCardIndex"].number() or 0), int(nic["deviceIndex"].number() or 0)) for nic in nics]
    for (card, device), count in Counter(taken).items():
        if count > 1:
            found = f"{count} interfaces on card {card} at device {device}; the launch is refused"
            yield Finding("fail", template["networkInterfaces"].path, found)
    own = [nic for nic, place in zip(nics, taken, strict=True) if place == (0, 0)]
    if own and str(own[0]["interfaceType"].known() or "interface") == "efa-only":
        yield Finding("fail", own[0]["interfaceType"].path, "the first interface has no address; no node would join")


def _market(template: Field) -> Iterator[Finding]:
    """A capacity block is asked for by its market and its reservation, or not at all."""
    market = template["instanceMarketOptions"]["marketType"].known()
    target = template.at("capacityReservationSpecification", "capacityReservationTarget")
    if market == "capacity-block" and not _is_said(target):
        found = "a capacity block without its reservation; the launch is refused"
        yield Finding("fail", template["instanceMarketOptions"].path, found)


def _group(template: Field) -> Iterator[Finding]:
    """What was booked has its place already (terraform-aws-eks#3730)."""
    target = template.at("capacityReservationSpecification", "capacityReservationTarget")
    group = template["placement"]["groupName"]
    if _is_said(target) and _is_said(group):
        found = "a placement group beside a reservation, whose hosts stand elsewhere: there is never capacity in both"
        yield Finding("fail", group.path, found)


def _is_said(field: Field) -> bool:
    """Whether there is a value, be it one that is known at the update only."""
    return field.value not in (None, "", {})


def _market_of_nodes(nodes: Field) -> Iterator[Finding]:
    if nodes["capacityType"].known() == "CAPACITY_BLOCK" and not _is_said(nodes["launchTemplate"]):
        found = "CAPACITY_BLOCK without a launch template, which alone can name the block"
        yield Finding("fail", nodes["capacityType"].path, found)


def _compact(pool: Field) -> Iterator[Finding]:
    """Source: cluster-toolkit 1.95.0, preconditions of modules/compute/gke-node-pool."""
    kind = pool["placementPolicy"]["type"]
    if kind.known() != "COMPACT":
        return
    zones = [zone.value for zone in pool["nodeLocations"].each()]
    if len(zones) != 1:
        found = f"COMPACT in {len(zones) or 'all'} zones; hosts stand close in exactly one"
        yield Finding("fail", pool["nodeLocations"].path if zones else kind.path, found)
    if pool["upgradeSettings"]["strategy"].known() == "BLUE_GREEN":
        found = "BLUE_GREEN with COMPACT, where there is no room for a second set of hosts"
        yield Finding("fail", pool["upgradeSettings"]["strategy"].path, found)
    if pool["queuedProvisioning"]["enabled"].known():
        yield Finding("fail", kind.path, "COMPACT with queued provisioning; GKE takes one of them")


def _reserved(pool: Field) -> Iterator[Finding]:
    affinity = pool["nodeConfig"]["reservationAffinity"]
    if affinity["consumeReservationType"].known() != "SPECIFIC_RESERVATION":
        return
    values = affinity["values"]
    if not _is_said(affinity["key"]) or (values.value is not None and len(list(values.each())) != 1):
        yield Finding("fail", affinity.path, "SPECIFIC_RESERVATION names one reservation by key and value")
    if len(list(pool["nodeLocations"].each())) > 1:
        found = "hosts in several zones from one reservation, which is in one"
        yield Finding("fail", pool["nodeLocations"].path, found)
    if pool["nodeConfig"]["flexStart"].known():
        found = "flex-start beside a reservation; hosts come from one of them"
        yield Finding("fail", pool["nodeConfig"]["flexStart"].path, found)


def _flexible(pool: Field) -> Iterator[Finding]:
    if pool["nodeConfig"]["flexStart"].known() and pool["management"]["autoRepair"].known():
        found = "repair of hosts that come when their turn comes; GKE takes one of them"
        yield Finding("fail", pool["management"]["autoRepair"].path, found)


def _networks(pool: Field) -> Iterator[Finding]:
    """One plain network more takes the PCI slot of a GPU's (AICR, gke-tcpxo-networking.md)."""
    shape = _of(pool["nodeConfig"]["machineType"], "gke")
    further = pool["networkConfig"]["additionalNodeNetworkConfigs"]
    if shape is None or further.known() is None:
        return
    count, wanted = len(list(further.each())), len(shape.nics)
    if count != wanted:
        found = f"{count} further networks, {shape.name} has {wanted} further interfaces"
        yield Finding(
            "fail", further.path, f"{found}; {'a GPU loses its own' if count > wanted else 'some GPUs have none'}"
        )


def _zones(pool: Field) -> Iterator[Finding]:
    """InfiniBand joins the hosts of one scale set, which is in one zone. Source: aks-rdma-infiniband."""
    shape = _of(pool["vmSize"], "aks")
    zones = list(pool["availabilityZones"].each())
    if shape and shape.fabric == "infiniband" and len(zones) > 1:
        found = f"{len(zones)} zones, and the InfiniBand of {shape.name} does not reach from one to another"
        yield Finding("fail", pool["availabilityZones"].path, found)
    if shape and pool["scaleSetPriority"].known() == "Spot" and _is_said(pool["capacityReservationGroupID"]):
        found = "Spot hosts from a reservation; Azure takes one of them"
        yield Finding("fail", pool["scaleSetPriority"].path, found)


def _rack(cluster: Field) -> Iterator[Finding]:
    """Source: OCI, Creating GPU Memory Clusters."""
    if not _is_said(cluster["gpuMemoryFabricId"]):
        found = "a GPU memory cluster without the fabric that was booked for it"
        yield Finding("fail", cluster["gpuMemoryFabricId"].path, found)


def _sold(pool: Field) -> Iterator[Finding]:
    """Families such as ``h100`` name nothing that can be had; the pool would wait for ever."""
    name = pool["spec"]["instanceType"]
    known = [shape.name for shape in SHAPES.values() if shape.target == "coreweave"]
    families = tuple(shape.partition("-")[0] for shape in known)
    if (said := str(name.known() or "")) in known or not said.startswith(families):
        return
    near = difflib.get_close_matches(said, known, n=1, cutoff=0.4)
    hint = f"; the nearest there is: {near[0]!r}" if near else ""
    yield Finding("fail", name.path, f"{said!r} is no instance type with GPUs that we know{hint}")


JUDGES: Mapping[str, tuple[Judge, ...]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": (_cards, _places, _market, _group),
    "aws:eks/nodeGroup:NodeGroup": (_market_of_nodes,),
    "gcp:container/nodePool:NodePool": (_compact, _reserved, _flexible, _networks),
    "azure-native:containerservice:AgentPool": (_zones,),
    "oci:Core/computeGpuMemoryCluster:ComputeGpuMemoryCluster": (_rack,),
    "kubernetes:compute.coreweave.com/v1alpha1:NodePool": (_sold,),
}
"""What is judged of each kind of resource."""

APPLIES_TO = tuple(JUDGES)
