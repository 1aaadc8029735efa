"""Kueue: which version of its API each release serves best, and the words by which pods are told to it."""

from __future__ import annotations

RELEASES = {
    "0.17": "v1beta2",
    "0.18": "v1beta2",
    "0.19": "v1beta2",
}
"""Version of the API by release. Source: kubernetes-sigs/kueue CHANGELOG-0.15 (serves v1beta2), CHANGELOG-0.16 (stores
v1beta2, takes v1beta1 away later); kinds of 0.17.0 and of commit ff69552e (after 0.19.2). Before 0.16 the chart leaves
Deployments to themselves unless told otherwise (values.yaml of v0.14.0 and v0.15.0), and before 0.17 a pod that was put
on a host which is gone or tainted by then stays pending (kueue#9616; gate TASReplaceNodeOnNodeTaints, on since 0.17):
older ones are not offered."""

NEWEST = "0.17.0"
"""Release whose kinds our tests hold our objects against: the newest among Go's modules."""

GROUP = "kueue.x-k8s.io"
"""API group of all its kinds."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Label of a workload that names its LocalQueue. Source: Kueue, Run Deployment."""
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
"""Annotation: all pods within one domain of a level. Source: Kueue, KEP 2724."""


def release(version: str) -> str:
    """The release that a version is of, such as ``0.17`` of ``0.17.3``."""
    return version.rpartition(".")[0]


def api_version(version: str) -> str:
    """API group and version to write objects in.

    Args:
        version: of Kueue, such as ``0.17.0``.
    """
    return f"{GROUP}/{RELEASES[release(version)]}"
