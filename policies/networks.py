"""Networks beside the cluster's own: which ones a pod asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from policies.field import Field

MULTUS = "k8s.v1.cni.cncf.io/networks"
"""Annotation that Multus goes by: names, or a JSON list. Source: multus-cni, docs/how-to-use.md."""
GKE = "networking.gke.io/interfaces"
"""Annotation that GKE goes by, a JSON list. Source: GKE, Set up multi-network support for Pods."""

_NAME = re.compile(r"(?:[^/@\s]+/)?(?P<name>[^/@\s]+)(?:@\S+)?")
"""``namespace/name@interface``, of which only the name is needed. Source: multus-cni, docs/how-to-use.md."""

KINDS = (
    ("mellanox.com", "MacvlanNetwork"),
    ("mellanox.com", "HostDeviceNetwork"),
    ("mellanox.com", "IPoIBNetwork"),
    ("sriovnetwork.openshift.io", "SriovNetwork"),
    ("sriovnetwork.openshift.io", "SriovIBNetwork"),
    ("k8s.cni.cncf.io", "NetworkAttachmentDefinition"),
    ("networking.gke.io", "Network"),
)
"""What makes a network, by API group and kind. Source: network-operator 26.4; multus-cni; GKE."""


def asked(pod: Field) -> Iterator[tuple[Field, str]]:
    """Yield each network that a pod asks for, once, with the annotation that names it.

    Raises:
        Unknown: an annotation can be told at the update only.
    """
    notes = pod["metadata"]["annotations"]
    for name, key in ((MULTUS, "name"), (GKE, "network")):
        text = notes[name].known()
        for network in dict.fromkeys(_names(text, key) if isinstance(text, str) else ()):
            yield notes[name], network


def _names(text: str, key: str) -> Iterator[str]:
    if text.lstrip().startswith("["):
        yield from _listed(text, key)
        return
    for part in text.split(","):
        if found := _NAME.fullmatch(part.strip()):
            yield found["name"]


def _listed(text: str, key: str) -> Iterator[str]:
    try:
        items: Any = json.loads(text)
    except ValueError:
        return
    # The pod network of a cluster on GKE is called default.
    yield from (str(item[key]) for item in items if isinstance(item, dict) and item.get(key, "default") != "default")
