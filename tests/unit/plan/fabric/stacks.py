"""Stacks with a fabric of each kind, as plain data."""

from __future__ import annotations

from typing import Any

from infra.catalog.shapes import SHAPES
from infra.plan.facts import Plan
from tests.unit.plan.specs import DIGEST, STACK, Sections, changed, plan_of

USES = {"models/chat/tensor_parallel": 8, "models/chat/rdma_devices": 8}
"""The model asks for every rail."""


def on(target: str, shape: str, **sections: Any) -> Sections:
    """A stack of four hosts of a machine type, whose model asks for nothing of the fabric yet."""
    zone = SHAPES[shape].places[0] if SHAPES[shape].places else "z"
    pools = {"gpus": {"shape": shape, "hosts": 4, "zone": zone, "labels": {"row": "a"}}}
    return {**STACK, "cluster": {"name": "prod", "target": target}, "pools": pools, **sections}


def metal(mode: str = "shared", fabric: str = "roce", **network: Any) -> Plan:
    """Bare metal whose model uses the fabric in a mode."""
    said = {"mode": mode, "subnet": "10.128.0.0/16", **({"functions": 2} if mode == "sriov" else {}), **network}
    said = {key: value for key, value in said.items() if value is not None}
    return plan_of({**USES, "pools/gpus/fabric": fabric, "pools/gpus/network": said})


def cloud(target: str, shape: str, devices: int, images: tuple[str, ...] = (), ownership: str = "") -> Plan:
    """A cloud whose model asks for so many devices."""
    base = on(target, shape)
    base["fabric"] = {"images": {part: f"mirror.example.com/{part}@{DIGEST}" for part in images}}
    changes: dict[str, Any] = {"models/chat/tensor_parallel": 8, "models/chat/rdma_devices": devices}
    if ownership:
        changes["cluster/ownership"] = ownership
    return plan_of(None, changed(changes, base))


def partition() -> Plan:
    """InfiniBand functions in a partition of their own."""
    network = {"mode": "sriov", "functions": 1, "partition": "0x8002", "subnet": "10.128.0.0/16"}
    changes = {**USES, "pools/gpus/fabric": "infiniband", "pools/gpus/network": network}
    return plan_of({**changes, "fabric": {"ufm_secret": "ufm"}})


TCPXO = ("tcpxo", "tcpxo-host", "tcpxo-daemon", "device-injector")
"""Programs of TCPXO."""

EVERY = {
    "shared roce": metal,
    "shared roce, routed": lambda: metal(routed=True),
    "shared roce, router": lambda: metal(gateway="first"),
    "functions roce": lambda: metal("sriov"),
    "whole roce": lambda: metal("host-device"),
    "shared infiniband": lambda: metal(fabric="infiniband"),
    "shared infiniband without addresses": lambda: metal(fabric="infiniband", subnet=None),
    "functions infiniband": lambda: metal("sriov", "infiniband"),
    "partition": partition,
    "whole infiniband": lambda: metal("host-device", "infiniband", subnet=None),
    "driver of the operator": lambda: plan_of({**USES, "cluster/ownership": "baremetal-operator"}),
    "efa": lambda: cloud("eks", "p6-b300.48xlarge", 16, ("efa-plugin",)),
    "gib": lambda: cloud("gke", "a4-highgpu-8g", 8, ("gib",)),
    "tcpxo": lambda: cloud("gke", "a3-megagpu-8g", 8, TCPXO),
    "coreweave": lambda: cloud("coreweave", "gd-8xh100ib-i128", 1),
}
"""A plan of each way to a fabric that a stack can have."""
