"""Stacks to hold against the clouds' models: the examples, each with its cluster made, and each shape by itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from infra.catalog.shapes import SHAPES, Shape
from infra.config.cluster import SECTIONS
from infra.config.load import PROJECT, clone_root, parse
from infra.plan.build import build
from infra.plan.facts import Plan
from infra.plan.resources import Resource
from infra.targets.choice import target_of

STACKS = clone_root() / "stacks"

EXAMPLES = {"eks": "eks-b300", "gke": "gke-b200", "aks": "aks-h200", "oci": "oci-b300"}
"""Target → the example whose cluster is made, or whose pool has another shape."""

MADE: Mapping[str, dict[str, Any]] = {
    "eks": {"zones": ["us-east-2a", "us-east-2b"], "api_from": ["192.0.2.0/24"]},
    "gke": {"api_from": ["192.0.2.0/24"]},
    "aks": {"admins": ["00000000-0000-4000-8000-00000000000a"], "api_from": ["192.0.2.0/24"]},
    "oci": {
        "zone": "Exmp:US-ASHBURN-AD-1",
        "system_image": "ocid1.image.oc1.iad.aaaaaaaaexampleokeimage",
        "api_from": ["192.0.2.0/24"],
    },
}
"""Target → how its cluster is made."""

ZONES = {"eks": "us-east-2a", "gke": "us-east4-b", "aks": "", "oci": "Exmp:US-ASHBURN-AD-2", "coreweave": "us-east-04a"}
"""Target → a zone of the example."""

BOOKED = {
    "p6e-gb200.36xlarge": {"kind": "capacity-block", "reservation": "cr-0f00ba4deadbeef03"},
    **{
        name: {"kind": "reservation", "reservation": "ocid1.computegpumemoryfabric.oc1.iad.aaaaaaaaexamplerack"}
        for name in ("BM.GPU.GB200.4", "BM.GPU.GB300.4")
    },
}
"""Shapes that are had by the rack alone."""


def sections(stack: str) -> dict[str, Any]:
    """What an example says, by section."""
    config = yaml.safe_load((STACKS / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"]
    said = {key.removeprefix(f"{PROJECT}:"): value for key, value in config.items()}
    for key in said.get("keys", {}).values():
        key["secret"] = "0123456789abcdef0123456789abcdef"
    return said


def made(target: str) -> dict[str, Any]:
    """The example of a target with its cluster made."""
    said = sections(EXAMPLES[target])
    cloud = said["cluster"][SECTIONS[target]]
    del cloud["existing"]
    cloud["made"] = deepcopy(MADE[target])
    if target == "gke":
        del cloud["service_account"]
    return said


def of_shape(shape: Shape) -> dict[str, Any]:
    """A stack with one pool of two hosts of a shape, and no model."""
    said = sections(EXAMPLES.get(shape.target, "coreweave-h100"))
    pool = {"shape": shape.name, "hosts": 2, "spare_hosts": 0, "zone": ZONES[shape.target]}
    if booked := BOOKED.get(shape.name):
        pool["supply"] = booked
    said["pools"], said["models"], said["keys"] = {"gpus": pool}, {}, {}
    if shape.target == "gke":
        networks = [{"network": f"{nic.kind}-net", "subnetwork": f"{nic.kind}-{nic.card}"} for nic in shape.nics]
        said["cluster"]["gcp"]["existing"]["networks"] = networks
    return said


def plan(said: dict[str, Any], name: str = "test") -> Plan:
    """Plan what is said, which must have no mistake."""
    spec = parse(name, said, Path("/nowhere"))
    assert spec.problems == ()
    assert spec.stack is not None
    return build(spec, spec.stack)


def resources(planned: Plan) -> list[Resource]:
    """All that a stack asks of its cloud, in order."""
    target = target_of(planned)
    ground = target.ground(planned)
    first = [ground.provider, *ground.resources] if ground else []
    return [*first, *(item for pool in planned.pools for item in target.pool_resources(planned, pool))]


def reserved(target: str) -> dict[str, Any]:
    """The example of a target with its reservation made."""
    said = sections(EXAMPLES[target])
    for pool in said["pools"].values():
        pool["supply"] = {"kind": "reservation", "made": True}
    return said


CASES: Mapping[str, dict[str, Any]] = {
    **{f"{target}-reserved": reserved(target) for target in EXAMPLES},
    **{name: sections(name) for name in EXAMPLES.values()},
    **{f"{target}-made": made(target) for target in EXAMPLES},
    **{shape.name: of_shape(shape) for shape in SHAPES.values() if shape.target in EXAMPLES},
}
"""Name → what it says."""
