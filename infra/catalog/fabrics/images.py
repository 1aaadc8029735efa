"""Images on the way to a fabric: those of the Network Operator by its version, those of clouds by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One image that runs on each host of a pool, with the rights of the host."""

    name: str
    image: str
    """Name without tag; a stack adds the digest that its registry shows."""
    version: str
    """What was looked at."""
    source: str


_GKE = "us-docker.pkg.dev/gce-ai-infra"
_ACCELERATORS = "github.com/GoogleCloudPlatform/container-engine-accelerators of 2026-06: {}"

PARTS: Mapping[str, Part] = {
    row.name: row
    for row in (
        Part("efa-plugin", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin", "v0.5.5",
             "aws/eks-charts stable/aws-efa-k8s-device-plugin; each region has a registry of its own"),
        Part("gib", f"{_GKE}/gpudirect-gib/nccl-plugin-gib", "v1.1.1",
             _ACCELERATORS.format("gpudirect-rdma/nccl-rdma-installer.yaml")),
        Part("tcpxo", f"{_GKE}/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev", "v1.0.15",
             _ACCELERATORS.format("gpudirect-tcpxo/nccl-tcpxo-installer.yaml")),
        Part("tcpxo-host", "docker.io/library/ubuntu", "24.04",
             _ACCELERATORS.format("gpudirect-tcpxo/nccl-tcpxo-installer.yaml: any image with nsenter")),
        Part("tcpxo-daemon", f"{_GKE}/gpudirect-tcpxo/tcpgpudmarxd-dev", "v1.0.21",
             _ACCELERATORS.format("gpudirect-tcpxo/nccl-test-latest.yaml")),
        Part("device-injector", "gcr.io/gke-release/nri-device-injector", "2026-06",
             _ACCELERATORS.format("nri_device_injector/nri-device-injector.yaml")),
    )
}  # fmt: skip
"""By name. No source that we could read gives their digests, so that a stack names them."""

PAUSE = "gke.gcr.io/pause@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
"""What stays when an installer is done: version 3.8. Source: nccl-rdma-installer.yaml."""

REGISTRY = "nvcr.io/nvidia/mellanox"
"""Of the operator's own images. Source: network-operator 26.4.1 example/crs/nicclusterpolicy_cr-full.yaml."""

OFED = {"26.4.1": "doca3.4.1-26.04-1.1.0.0-1", "26.4.0": "doca3.4.0-26.04-0.8.6.0-0"}
"""Version of the Network Operator → of the driver that it was made with. Source: network-operator, hack/release.yaml of
each tag: Mofed."""

FIRST_WITH_NODE_POLICY = (26, 4)
"""First release line that knows NicNodePolicy. Source: network-operator tags: the kind is in 26.4.0, not in 26.1.2."""
