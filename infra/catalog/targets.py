"""Targets: who owns the driver, which runtime class and which RDMA resource each place to run provides."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.monitoring import Scrape


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
    scrapes: tuple[Scrape, ...]
    """Parts beside the pods that Prometheus can read; a part that nobody can reach has no row."""
    simulated_label: str
    """Label of hosts that exist in the API only; empty where all are real."""
    exporter_on_host_network: bool
    """Whether node-exporter sees the host's own interfaces; not where hosts share one network."""
    kubelet_is_signed: bool
    """Whether kubelets show a certificate of the cluster's own authority."""
    image_prefix: str
    """Start of the names of monitoring images; empty where the published ones are used."""
    source: str


_CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}
"""Label of the hosts of a control plane. Source: kubeadm."""
_LAB_0 = {"kubernetes.io/hostname": "lab-0"}
"""The lab's first host, on whose address all of its single parts listen."""

TARGETS = {
    row.name: row
    for row in (
        TargetFacts("lab", "operator", "nvidia", "rdma/hca", 10, True,
                    (Scrape("etcd", 2381, "hosts", _LAB_0),
                     Scrape("coredns", 9153, "hosts", _LAB_0),
                     Scrape("kwok", 10247, "hosts", _LAB_0),
                     Scrape("fleet", 10246, "hosts", _LAB_0, honors_labels=True, every=3)),
                    "lab.railwright.dev/nodepool", False, True, "docker.io/railwright/",
                    "our own lab: KWOK hosts with the labels and resources that the operators would set; "
                    "Corefile of the lab: ttl 5 and cache 5"),
        TargetFacts("baremetal", "hosts", "nvidia", "rdma/hca", 35, False,
                    (Scrape("etcd", 2381, "hosts", _CONTROL_PLANE, on_request=True,
                            source="kubeadm: --listen-metrics-urls is http://127.0.0.1:2381 unless set otherwise"),
                     Scrape("coredns", 9153, "pods", {"k8s-app": "kube-dns"}, "kube-system",
                            source="kubeadm's CoreDNS Deployment")),
                    # kubeadm's kubelets sign for themselves unless serverTLSBootstrap is set.
                    "", True, False, "",
                    "GPU Operator 26.7 values (operator.runtimeClass); RDMA shared device plugin's default prefix; "
                    "Corefile of kubeadm: ttl 30 and cache 30"),
    )
}  # fmt: skip
"""By name."""

LAB_HOSTS = ("lab-0", "lab-1")
"""Names of the lab's real hosts. Source: lab/cluster/hosts.py, held equal by a test."""
