"""RW-303: what one cloud refuses of its own machine types and reservations, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.catalog.shapes import Shape
from infra.plan.facts import PoolPlan, Refusal

RESERVATIONS = {
    "eks": (r"cr-[0-9a-f]{8,17}", "the id of a capacity reservation or block, cr-…"),
    "gke": (
        r"[a-z]([-a-z0-9]*[a-z0-9])?(/reservationBlocks/[-a-z0-9]+(/reservationSubBlocks/[-a-z0-9]+)?)?",
        "the name of a reservation, with block and sub-block where there are",
    ),
    "aks": (r"/subscriptions/.+/capacityReservationGroups/[^/]+", "the resource id of a capacity reservation group"),
    "oci": (r"ocid1\.(capacityreservation|computegpumemoryfabric)\.\S+", "the OCID of a capacity reservation, or of a "
            "GPU memory fabric for a rack"),
}  # fmt: skip
"""Target → how what was booked is named, as pattern and in words. Source: each cloud's API."""


def check(plan: PoolPlan, shape: Shape) -> Iterator[Refusal]:
    """Yield what the shape's own cloud refuses."""
    pattern, words = RESERVATIONS.get(shape.target, ("", ""))
    booked = plan.pool.supply.reservation
    if booked and pattern and not re.fullmatch(pattern, booked):
        yield _refuse(plan, "supply.reservation", f"{booked!r} on target {shape.target}", f"write {words}")
    if shape.target == "gke":
        yield from _gke(plan)
    if shape.target == "oci":
        yield from _oci(plan)


def _refuse(plan: PoolPlan, key: str, found: str, fix: str) -> Refusal:
    return Refusal("RW-303", f"pools.{plan.name}.{key}", found, fix)


def _gke(plan: PoolPlan) -> Iterator[Refusal]:
    """Source: cluster-toolkit 1.95.0, modules/compute/gke-node-pool, preconditions."""
    supply, zone = plan.pool.supply, plan.pool.zone
    if supply.reservation and not zone:
        yield _refuse(plan, "zone", "missing, and a reservation is in one zone", "name the zone")
    if supply.kind == "flex-start" and plan.pool.spare_hosts:
        found = f"{plan.pool.spare_hosts}, and hosts that come when their turn comes are not there in advance"
        yield _refuse(plan, "spare_hosts", found, "set it to 0, or book the hosts")


def _oci(plan: PoolPlan) -> Iterator[Refusal]:
    """Source: oci-hpc-oke 26.7.0, terraform/validation.tf; OCI, Creating GPU Memory Clusters."""
    by_rack = plan.board.name.startswith("nvl72")
    is_rack = "computegpumemoryfabric" in plan.pool.supply.reservation
    if by_rack and plan.pool.fabric == "none":
        yield _refuse(plan, "fabric", "'none', and trays of a rack are launched on its fabric", "leave it out")
    if by_rack and not is_rack:
        found = "none of a GPU memory fabric, and trays are launched on the NVLink of the rack that was booked"
        yield _refuse(plan, "supply.reservation", found, "name the fabric's OCID, with kind: reservation")
    if is_rack and not by_rack:
        found = f"a GPU memory fabric, and {plan.pool.shape} is no tray of a rack"
        yield _refuse(plan, "supply.reservation", found, "name a capacity reservation")
