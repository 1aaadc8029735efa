"""How one host on OCI starts: its image, its network, the cloud's agents on it, and how it joins the cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from infra.catalog.shapes import Shape
from infra.config.clouds import Oci
from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.targets.booked import booked
from infra.targets.oci.cluster import Place

AGENTS = {
    "Compute HPC RDMA Authentication": True,
    "Compute HPC RDMA Auto-Configuration": True,
    "Compute RDMA GPU Monitoring": True,
    "Compute Instance Monitoring": True,
    "Compute Instance Run Command": True,
    "Management Agent": True,
    "Bastion": False,
    "Block Volume Management": False,
    "OS Management Service Agent": False,
    "Oracle Autonomous Linux": False,
}
"""Plugin of Oracle's agent → whether it runs: the first two bring the fabric up, the last two would restart hosts on
their own. Source: oci-hpc-oke 26.7.0, terraform/oke-workers.tf."""

VOLUME_SPEED = 20
"""Speed of the boot volume, which holds images (VPU per GB): "higher performance" of OCI. Source: our choice."""

JOIN = """\
#!/usr/bin/env bash
set -euo pipefail
# The instance's own certificate comes a moment after it has started, and nothing joins without.
until curl -fsS -H 'Authorization: Bearer Oracle' http://169.254.169.254/opc/v2/identity/cert.pem >/dev/null; do
  sleep 2
done
{before}oke bootstrap --kubelet-extra-args '--register-with-taints={taints}'
"""
"""What a host does once. ``oke`` finds server, authority and labels in the instance's metadata. Source: OKE, cloud-init
of self-managed nodes; oci-hpc-oke 26.7.0, files/oke-ubuntu-cloud-init.sh."""

NO_IMEX = "systemctl disable --now nvidia-imex.service || true\n"
"""On trays of a rack: the DRA driver starts IMEX where a job needs it, and two of them refuse each other. Source:
kubernetes-sigs/dra-driver-nvidia-gpu, and aicr#2520."""


def details(plan: PoolPlan, shape: Shape, oci: Oci, place: Place) -> dict[str, Any]:
    """Launch details of an instance configuration."""
    reservation, by_rack = booked(plan), plan.board.name.startswith("nvl72")
    props: dict[str, Any] = {
        "compartmentId": oci.compartment,
        "availabilityDomain": plan.pool.zone,
        "displayName": f"pool-{plan.name}",
        "shape": shape.name,
        "sourceDetails": {
            "sourceType": "image",
            "imageId": oci.image,
            "bootVolumeSizeInGbs": str(oci.disk_gib),
            "bootVolumeVpusPerGb": str(VOLUME_SPEED),
        },
        "createVnicDetails": {
            "assignPublicIp": False,
            "subnetId": place.subnet,
            "nsgIds": list(place.security_groups),
        },
        "agentConfig": {
            "areAllPluginsDisabled": False,
            "isManagementDisabled": False,
            "isMonitoringDisabled": False,
            "pluginsConfigs": [
                {"name": name, "desiredState": "ENABLED" if runs else "DISABLED"} for name, runs in AGENTS.items()
            ],
        },
        "instanceOptions": {"areLegacyImdsEndpointsDisabled": True},
        "metadata": _metadata(plan, oci, place),
    }
    if reservation and not by_rack:
        props["capacityReservationId"] = reservation
    return props


def _metadata(plan: PoolPlan, oci: Oci, place: Place) -> Mapping[str, Any]:
    return {
        "apiserver_host": place.api_host,
        "cluster_ca_cert": place.api_ca,
        "oke-k8version": oci.kubernetes,
        "oke-initial-node-labels": ",".join(f"{key}={value}" for key, value in sorted(labels(plan).items())),
        "user_data": user_data(plan),
    }


def labels(plan: PoolPlan) -> dict[str, str]:
    """Labels that a host registers with."""
    return own_labels(plan) | dict([plan.ownership.host_label] if plan.ownership.host_label else [])


def user_data(plan: PoolPlan) -> str:
    """The script in base64."""
    taints = ",".join(f"{taint['key']}={taint['value']}:{taint['effect']}" for taint in host_taints(plan))
    before = NO_IMEX if plan.board.name.startswith("nvl72") else ""
    return base64.b64encode(JOIN.format(before=before, taints=taints).encode()).decode()
