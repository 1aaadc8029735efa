"""The cluster: its name, where it runs, and how to reach it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from infra.config.base import Frozen, Name
from infra.config.clouds import Aws, Azure, Cloud, Gcp, Oci

SECTIONS = {"eks": "aws", "gke": "gcp", "aks": "azure", "oci": "oci"}
"""Target → the key of ``cluster`` that says where its pools go."""


class Cluster(Frozen):
    """One Kubernetes cluster that one stack manages."""

    name: Name
    """Shown in every name that leaves the cluster."""
    target: Literal["lab", "baremetal", "eks", "gke", "aks", "oci", "coreweave"]
    """Where it runs; decides who owns the driver and what pools provide."""
    ownership: str = ""
    """Who owns driver, toolkit and OFED on hosts with GPUs, where the target leaves a choice: a name of
    infra/catalog/ownership.py. Empty: the target's default."""
    aws: Aws | None = None
    """Where pools go on target eks."""
    gcp: Gcp | None = None
    """Where pools go on target gke."""
    azure: Azure | None = None
    """Where pools go on target aks."""
    oci: Oci | None = None
    """Where pools go on target oci."""
    region: str = Field(default="local", pattern=r"^[a-z0-9-]+$")
    """Where the hosts stand; data may be bound to it."""
    kubernetes: str = Field(default="1.36", pattern=r"^1\.\d+$")
    """Minor version of the API server."""
    kubeconfig: str = ""
    """Path of a kubeconfig; relative to the clone. Empty: what KUBECONFIG says."""
    ssh_config: str = ""
    """Path of an ssh configuration that names the hosts; relative to the clone. Empty: the lab's own,
    on other targets the user's."""
    protected: bool = False
    """Whether a runbook or drill acts here only for who types the stack's name."""

    @property
    def cloud(self) -> Cloud | None:
        """What is said of the cloud that the target is on; None where it is on none, or nothing is said."""
        section = SECTIONS.get(self.target)
        return getattr(self, section) if section else None
