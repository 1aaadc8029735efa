"""From a target's name to what it does."""

from __future__ import annotations

from infra.plan.facts import Plan
from infra.targets import Target
from infra.targets.aks import AksTarget
from infra.targets.baremetal import BaremetalTarget
from infra.targets.coreweave import CoreweaveTarget
from infra.targets.eks import EksTarget
from infra.targets.gke import GkeTarget
from infra.targets.lab import LabTarget
from infra.targets.oci import OciTarget

_TARGETS: dict[str, type[Target]] = {
    "lab": LabTarget,
    "baremetal": BaremetalTarget,
    "eks": EksTarget,
    "gke": GkeTarget,
    "aks": AksTarget,
    "oci": OciTarget,
    "coreweave": CoreweaveTarget,
}


def target_of(plan: Plan) -> Target:
    """The target that a plan is for."""
    return _TARGETS[plan.target.name]()
