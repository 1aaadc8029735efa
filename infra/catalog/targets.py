"""Targets: who owns the driver, which runtime class and which RDMA resource each place to run provides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What a target gives to every pool on it."""

    name: str
    driver_owner: str
    """``hosts`` (our plays), ``image``, ``cloud`` or ``operator``; exactly one."""
    gpu_runtime_class: str
    """Runtime class of GPU pods; a pod that names a missing class is never created."""
    rdma_resource: str
    """Extended resource of one RDMA device on a pool with a fabric."""
    dns_stale_seconds: int
    """How long the cluster's DNS may still name a pod that leaves (seconds)."""
    simulates_gpus: bool
    """Hosts with GPUs exist in the API only; the lab does this."""
    source: str


TARGETS = {
    row.name: row
    for row in (
        TargetFacts("lab", "operator", "nvidia", "rdma/hca", 10, True,
                    "our own lab: KWOK hosts with the labels and resources that the operators would set; "
                    "Corefile of the lab: ttl 5 and cache 5"),
        TargetFacts("baremetal", "hosts", "nvidia", "rdma/hca", 35, False,
                    "GPU Operator 26.7 values (operator.runtimeClass); RDMA shared device plugin's default prefix; "
                    "Corefile of kubeadm: ttl 30 and cache 30"),
    )
}  # fmt: skip
"""By name."""
