"""What a stack was made of once, as far as a change of it would replace what runs.

``python -m tests.graph.snapshots STACK GOLDEN``: write the snapshot of a stack down from a golden file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("snapshots")

_OBJECT = ("metadata.name", "metadata.namespace")

REPLACING: Mapping[str, tuple[str, ...]] = {
    "kubernetes:": _OBJECT,
    "kubernetes:apps/v1:": (*_OBJECT, "spec.selector", "spec.serviceName", "spec.volumeClaimTemplates"),
    "kubernetes:core/v1:PersistentVolumeClaim": (*_OBJECT, "spec.storageClassName", "spec.accessModes"),
    "kubernetes:compute.coreweave.com/v1alpha1:NodePool": (*_OBJECT, "spec.instanceType"),
    "aws:ec2/securityGroup:SecurityGroup": ("name", "description", "vpcId"),
    "aws:ec2/placementGroup:PlacementGroup": ("name", "strategy"),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name",),
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "launchTemplate.id", "nodeGroupName",
        "nodeRoleArn", "subnetIds",
    ),
    "gcp:container/nodePool:NodePool": (
        "cluster", "location", "name", "networkConfig", "nodeConfig.guestAccelerators", "nodeConfig.oauthScopes",
        "nodeConfig.reservationAffinity", "nodeConfig.serviceAccount", "placementPolicy", "project",
    ),
    "azure-native:containerservice:AgentPool": (
        "agentPoolName", "availabilityZones", "capacityReservationGroupID", "gpuProfile", "osDiskSizeGB", "osType",
        "resourceGroupName", "resourceName", "type", "vmSize", "vnetSubnetID",
    ),
    "oci:Core/instanceConfiguration:InstanceConfiguration": ("compartmentId", "instanceDetails"),
    "oci:Core/clusterNetwork:ClusterNetwork": ("compartmentId", "placementConfiguration"),
}  # fmt: skip
"""Start of a type → properties with which another one is made in its place; the longest start counts. Source: what the
providers' schemas and the clouds' APIs say cannot be changed, as far as we set it."""


def snapshot(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Identity of each resource, and what may not change of it."""
    found = [
        {"type": item["type"], "name": item["name"], "parent": item["parent"], "fixed": dict(_fixed(item))}
        for item in graph["resources"]
    ]
    return sorted(found, key=lambda item: (item["type"], item["name"]))


def replaced(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """What would be taken away or made anew, each as a sentence."""
    now = {(item["type"], item["name"], item["parent"]): item["fixed"] for item in after}
    problems = []
    for item in before:
        fixed = now.get((item["type"], item["name"], item["parent"]))
        if fixed is None:
            problems.append(f"{item['name']} ({item['type']}): is taken away; give what is there now an alias")
        elif changed := sorted(key for key in {*item["fixed"], *fixed} if item["fixed"].get(key) != fixed.get(key)):
            problems.append(f"{item['name']} ({item['type']}): is made anew for {', '.join(changed)}")
    return problems


def _fixed(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    start = max((kind for kind in REPLACING if item["type"].startswith(kind)), key=len, default="")
    for path in REPLACING.get(start, ()):
        value: Any = item["inputs"]
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            yield path, value


if __name__ == "__main__":
    stack, golden = sys.argv[1:]
    taken = snapshot(yaml.safe_load(Path(golden).read_text(encoding="utf-8")))
    (FOLDER / f"{stack}.yaml").write_text(yaml.safe_dump(taken, sort_keys=True, width=120), encoding="utf-8")
