"""Targets: what each place to run provides and lets be seen, whatever its hosts."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.monitoring import Scrape


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What a target gives to every pool on it."""

    name: str
    rdma_resource: str
    """Extended resource of one RDMA device on a pool with a fabric; empty where the machine type says it."""
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

_COREDNS = (Scrape("coredns", 9153, "pods", {"k8s-app": "kube-dns"}, "kube-system",
                   source="CoreDNS Deployment of kubeadm and of the clouds' add-ons"),)  # fmt: skip

TARGETS = {
    row.name: row
    for row in (
        TargetFacts("lab", "rdma/hca", 10, True,
                    (Scrape("etcd", 2381, "hosts", _LAB_0),
                     Scrape("coredns", 9153, "hosts", _LAB_0),
                     Scrape("kwok", 10247, "hosts", _LAB_0),
                     Scrape("fleet", 10246, "hosts", _LAB_0, honors_labels=True, every=3)),
                    "lab.railwright.dev/nodepool", False, True, "docker.io/railwright/",
                    "our own lab: KWOK hosts with the labels and resources that the operators would set; "
                    "Corefile of the lab: ttl 5 and cache 5"),
        TargetFacts("baremetal", "rdma/hca", 35, False,
                    (Scrape("etcd", 2381, "hosts", _CONTROL_PLANE, on_request=True,
                            source="kubeadm: --listen-metrics-urls is http://127.0.0.1:2381 unless set otherwise"),
                     *_COREDNS),
                    # kubeadm's kubelets sign for themselves unless serverTLSBootstrap is set.
                    "", True, False, "",
                    "RDMA shared device plugin's default prefix; Corefile of kubeadm: ttl 30 and cache 30"),
        # Whether kubelets are signed differs by version of the cluster, so that nothing is built on it.
        *(TargetFacts(name, "", 35, False, scrapes, "", True, False, "", source) for name, scrapes, source in (
            ("eks", _COREDNS, "EKS add-on CoreDNS: ttl 30 and cache 30"),
            ("gke", (), "GKE's kube-dns: records of 30 s; it has no page that a pod may read"),
            ("aks", _COREDNS, "AKS: CoreDNS with ttl 30 and cache 30"),
            ("oci", _COREDNS, "OKE: CoreDNS with ttl 30 and cache 30"),
            ("coreweave", _COREDNS, "CKS: CoreDNS; its ttl is not published, 30 is CoreDNS's own"),
        )),
    )
}  # fmt: skip
"""By name."""

LAB_HOSTS = ("lab-0", "lab-1")
"""Names of the lab's real hosts. Source: lab/cluster/hosts.py, held equal by a test."""

LAB_SSH_CONFIG = ".lab/ssh_config"
"""Where the lab writes how ssh reaches them, relative to the clone. Source: lab/cluster/ssh.py."""
