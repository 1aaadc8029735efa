"""Leaves: by which label of a host each target tells which leaf it hangs on."""

from __future__ import annotations

OWN = "railwright.dev/leaf"
"""Ours, where a pool or an inventory knows the leaf of each host."""

LEAF_LABELS = {
    "lab": OWN,
    "baremetal": OWN,
    "eks": "topology.k8s.aws/network-node-layer-3",
    "gke": "cloud.google.com/gce-topology-subblock",
    "aks": "",
    "oci": "oci.oraclecloud.com/rdma.local_block_id",
    "coreweave": "backend.coreweave.cloud/leafgroup",
}
"""By target; empty where the cloud tells nobody. Source: EKS user guide, Place distributed workloads with network
topology labels (layer 3 is the lowest of most types); GKE, topology labels of A4 and later; OKE, labels of the RDMA
topology from instance metadata; CoreWeave docs, InfiniBand and RoCE labels. Azure publishes no such label."""
