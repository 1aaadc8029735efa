"""What the hosts of a pool look like, as pure functions from a NodePool to Node objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from lab.fleet.signals import signals_of

OWNER = "lab.railwright.dev/nodepool"
"""Label on each host that names its pool; a node without it is never touched."""

STAMP = "lab.railwright.dev/stamp"
"""Annotation on each host: the stamp it was last given, as JSON, so that a change can be told from a fault."""

KWOK = {"kwok.x-k8s.io/node": "fake"}
"""Annotation by which KWOK knows the nodes it plays. Source: kwok's --manage-nodes-with-annotation-selector."""

GPU = "nvidia.com/gpu"
"""Resource that NVIDIA's device plugin offers."""

SPARE = "railwright.dev/spare"
"""Label and taint of the last hosts of a pool, which are kept for the day another fails: the scheduler takes one only
when no other host will do, so that a lost replica comes back without anybody's doing."""

Object = Mapping[str, Any]
"""A Kubernetes object, or a part of one, as JSON has it."""


@dataclass(frozen=True)
class Host:
    """One host as its pool wants it."""

    name: str
    stamp: Mapping[str, Any]

    def node(self) -> dict[str, Any]:
        """The Node object to create."""
        stamp = self.stamp
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": stamp["labels"],
                "annotations": {**stamp["annotations"], STAMP: encode(stamp)},
            },
            "spec": {"taints": stamp["taints"]},
            "status": {"capacity": stamp["capacity"], "allocatable": stamp["allocatable"]},
        }


def encode(stamp: Object) -> str:
    """A stamp as text that is equal when the stamp is."""
    return json.dumps(stamp, sort_keys=True, separators=(",", ":"))


def wanted(pool: Object) -> list[Host]:
    """The hosts of a pool, in the order of their names."""
    name, spec = pool["metadata"]["name"], pool["spec"]
    first_spare = spec["hosts"] - spec.get("spareHosts", 0)
    made = (_host(name, number, number // spec["hostsPerLeaf"], spec["template"]) for number in range(spec["hosts"]))
    return [_as_spare(host) if number >= first_spare else host for number, host in enumerate(made)]


def _as_spare(host: Host) -> Host:
    taint = {"key": SPARE, "value": "true", "effect": "PreferNoSchedule"}
    labels, taints = {**host.stamp["labels"], SPARE: "true"}, [*host.stamp["taints"], taint]
    return Host(host.name, {**host.stamp, "labels": labels, "taints": taints})


def _host(pool: str, number: int, leaf: int, template: Object) -> Host:
    name, leaf_name = f"{pool}-{number:04}", f"{pool}-leaf-{leaf}"
    capacity = {key: str(value) for key, value in template["capacity"].items()}
    allocatable = {key: str(value) for key, value in template.get("allocatable", {}).items()}
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        **template.get("labels", {}),
        "kubernetes.io/hostname": name,
        "railwright.dev/leaf": leaf_name,
        # The name under which schedulers that know topology look for the leaf (NVIDIA Topograph's default).
        "network.topology.nvidia.com/leaf": leaf_name,
        OWNER: pool,
    }
    return Host(
        name,
        {
            "labels": labels,
            "annotations": {**template.get("annotations", {}), **KWOK},
            "taints": list(template.get("taints", [])),
            "capacity": capacity,
            "allocatable": {**capacity, **allocatable},
        },
    )


def stamp_of(node: Object) -> dict[str, Any]:
    """The stamp a node was last given; empty where it is lost or spoilt, so that it is given anew."""
    try:
        stamp = json.loads(node["metadata"].get("annotations", {}).get(STAMP, "{}"))
    except ValueError:
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_ready(node: Object) -> bool:
    """Whether the node says that it is ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def changed_keys(old: Object, new: Object) -> dict[str, Any]:
    """A merge patch that leads from the old values to the new; a key that went is null."""
    gone = dict.fromkeys(old.keys() - new.keys())
    return {**gone, **{key: value for key, value in new.items() if old.get(key) != value}}


def meta_patch(node: Object, host: Host) -> dict[str, Any]:
    """Merge patch for labels, annotations and taints of a node; what others put there stays."""
    old, new = stamp_of(node), host.stamp
    meta = {
        "labels": changed_keys(old.get("labels", {}), new["labels"]),
        "annotations": {**changed_keys(old.get("annotations", {}), new["annotations"]), STAMP: encode(new)},
    }
    if old.get("taints", []) == new["taints"]:
        return {"metadata": meta}
    # Refused when somebody else changed the node since it was read: taints are one list, not a map.
    meta["resourceVersion"] = node["metadata"]["resourceVersion"]
    return {"metadata": meta, "spec": {"taints": _taints(node, old.get("taints", []), new["taints"])}}


def _taints(node: Object, old: Sequence[Object], new: Sequence[Object]) -> list[Object]:
    ours = {(taint["key"], taint["effect"]) for taint in [*old, *new]}
    live = node.get("spec", {}).get("taints", [])
    return [*new, *(taint for taint in live if (taint["key"], taint["effect"]) not in ours)]


def status_patch(node: Object, host: Host) -> dict[str, Any]:
    """Merge patch for capacity and allocatable; empty when the stamp asks for no other than before."""
    old = stamp_of(node)
    parts = {key: changed_keys(old.get(key, {}), host.stamp[key]) for key in ("capacity", "allocatable")}
    return {"status": parts} if any(parts.values()) else {}


@dataclass(frozen=True)
class Changes:
    """What must happen so that a pool has the hosts it wants."""

    create: Sequence[Host]
    update: Sequence[tuple[Object, Host]]
    remove: Sequence[str]
    """Names of hosts to remove, highest first."""


def changes(pool: Object, nodes: Sequence[Object]) -> Changes:
    """Compare the hosts a pool wants with the nodes that carry its name.

    A node is updated when the pool's stamp for it changed, not when the node itself did: a taint, a lost GPU or
    a cordon put on a host by hand or by a drill is a fault to live with, and stays until it is taken back.
    """
    hosts = {host.name: host for host in ([] if is_going(pool) else wanted(pool))}
    live = {node["metadata"]["name"]: node for node in nodes if not is_going(node)}
    both = [(live[name], _as_told(host, live[name])) for name, host in hosts.items() if name in live]
    return Changes(
        create=[host for name, host in hosts.items() if name not in live],
        update=[(node, host) for node, host in both if stamp_of(node) != host.stamp],
        remove=sorted(live.keys() - hosts.keys(), reverse=True),
    )


def _as_told(host: Host, node: Object) -> Host:
    """A host with the GPUs that its signals leave it: a device plugin no longer offers one that fell off the bus."""
    allocatable, lost = host.stamp["allocatable"], len(signals_of(node).gpu_lost)
    if not lost or GPU not in allocatable:
        return host
    left = {GPU: str(max(0, int(allocatable[GPU]) - lost))}
    return Host(host.name, {**host.stamp, "allocatable": {**allocatable, **left}})


def must_be_ready_again(pod: Object, hosts: Set[str]) -> bool:
    """Whether a pod runs on one of these hosts, which came back, and is still marked as lost with it."""
    status = pod.get("status", {})
    is_unready = any(c["type"] == "Ready" and c["status"] != "True" for c in status.get("conditions", []))
    return pod["spec"].get("nodeName") in hosts and status.get("phase") == "Running" and is_unready


def ready_pod_patch(pod: Object, now: str) -> dict[str, Any]:
    """Merge patch that makes a running pod ready, as its kubelet would once it is back."""
    kinds = ("Ready", "ContainersReady")
    conditions = [
        {**c, "status": "True", "lastTransitionTime": now} if c["type"] in kinds and c["status"] != "True" else c
        for c in pod["status"]["conditions"]
    ]
    return {"status": {"conditions": conditions}}


def is_going(thing: Object) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in thing["metadata"]


def status(pool: Object, nodes: Sequence[Object], todo: Changes, taken: Sequence[str], now: str) -> dict[str, Any]:
    """Status of a pool.

    Args:
        nodes: the pool's nodes as they were found.
        todo: what had to be done to them.
        taken: names that foreign nodes hold, so that no host can have them.
        now: time of a condition that changes, RFC 3339.
    """
    hosts, ready, want = len(nodes), sum(map(is_ready, nodes)), pool["spec"]["hosts"]
    settled = not (todo.create or todo.update or todo.remove) and hosts == ready == want
    reason, message = "AllHostsReady" if settled else "Settling", f"{ready} of {want} hosts are ready"
    if taken:
        reason = "NameTaken"
        message = f"{len(taken)} names are held by nodes that are not of this pool, first {taken[0]!r}; delete them"
    generation = pool["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": str(settled),
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    for old in pool.get("status", {}).get("conditions", []):
        if old["type"] == "Ready" and old["status"] == condition["status"]:
            condition["lastTransitionTime"] = old["lastTransitionTime"]
    return {"hosts": hosts, "readyHosts": ready, "observedGeneration": generation, "conditions": [condition]}
