"""What the cluster must know of a host's further networks, so that pods can have an interface in each."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.shapes import Shape
from infra.plan.manifests.base import Manifest, manifest
from infra.targets.gke.cluster import Place

API = "networking.gke.io/v1"
"""Group and version of Network and GKENetworkParamSet. Source: cluster-toolkit 1.95.0, examples/gke-a4."""


def objects(shape: Shape, place: Place) -> Iterator[tuple[str, Manifest]]:
    """A Network and its parameters for each interface beside the first: part → manifest."""
    for nic, network in zip(shape.nics, place.networks, strict=False):
        name = f"{nic.kind}-{nic.card}"
        mode = "RDMA" if nic.kind == "rdma" else "NetDevice"
        spec = {"vpc": network.network, "vpcSubnet": network.subnetwork, "deviceMode": mode}
        yield f"params-{name}", manifest(API, "GKENetworkParamSet", name, spec=spec)
        refers = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": name}
        yield f"network-{name}", manifest(API, "Network", name, spec={"type": "Device", "parametersRef": refers})
