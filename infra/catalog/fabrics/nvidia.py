"""Fabrics of NVIDIA's NICs that the Network Operator serves: bare metal, Azure, Oracle; and the lab's stand-in."""

from __future__ import annotations

from infra.catalog.fabrics.access import Access

VERBS = {"NCCL_IB_DISABLE": "0", "NCCL_NET": "IB"}
"""No silent way back to TCP: without verbs NCCL ends instead. Source: NCCL user guide, env: NCCL_NET."""

ROCE = {**VERBS, "NCCL_IB_TC": "106"}
"""Traffic is marked as the hosts' rails expect it. Source: infra/catalog/host_tuning/rdma.py, rdma_tos, held equal by a
test; the index of the global id is left to NCCL, it differs by port (NCCL 2.21 finds RoCE v2 by itself)."""

OCI = {
    **VERBS,
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "0",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_HCA": "mlx5",
    "NCCL_IB_TC": "41",
    "NCCL_IB_SL": "0",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
    "UCX_TLS": "tcp",
    "UCX_NET_DEVICES": "eth0",
}
"""Source: oci-hpc-oke 26.7.0, docs/recommended-nccl-rccl-parameters-by-shape.md for H100 to B300; with virtual
functions the HCA is ``mlx5``; manifests/nccl-tests/kueue/virtual-functions."""

_SHARED = "k8s-rdma-shared-dev-plugin README; network-operator 26.4.1 example/crs/macvlannetwork_cr-nvidia-ipam.yaml"
_VIRTUAL = "network-operator 26.4.1, SriovNetworkNodePolicy and SriovNetwork of its SR-IOV operator"
_WHOLE = "network-operator 26.4.1 example/crs: hostdevicenetwork_cr.yaml, nicclusterpolicy_cr-ocp-hostdev.yaml"
_AKS = "aks-rdma-infiniband 2026-07: configs/nicclusterpolicy/{}"

_ETHERNET = (1_500, 9_216)
"""Frames that Spectrum and its like carry (bytes). Source: NVIDIA Cumulus Linux, switch port attributes: 9216."""
_IPOIB = (2_044, 4_092)
"""Datagram mode with links of 2 and 4 KiB (bytes). Source: Linux, Documentation/infiniband/ipoib.rst."""

ACCESSES = (
    Access("baremetal", "roce", "", "shared", "shared plugin", "devices", "rdma/hca", "rail", ROCE, mtus=_ETHERNET,
           mtu=4_200, needs_addresses=True, source=_SHARED),
    Access("baremetal", "roce", "", "sriov", "SR-IOV operator", "rails", "nvidia.com/rail", "rail", ROCE,
           mtus=_ETHERNET, mtu=4_200, needs_addresses=True, source=_VIRTUAL),
    Access("baremetal", "roce", "", "host-device", "function plugin", "rails", "nvidia.com/rail", "rail", ROCE,
           mtus=_ETHERNET, mtu=4_200, needs_addresses=True, source=_WHOLE),
    Access("baremetal", "infiniband", "", "shared", "shared plugin", "devices", "rdma/hca", "rail", VERBS, mtus=_IPOIB,
           mtu=4_092, source=_SHARED + "; ipoibnetwork_cr.yaml"),
    Access("baremetal", "infiniband", "", "sriov", "SR-IOV operator", "rails", "nvidia.com/rail", "rail", VERBS,
           mtus=_IPOIB, mtu=4_092, source=_VIRTUAL + "; SriovIBNetwork"),
    Access("baremetal", "infiniband", "", "host-device", "function plugin", "rails", "nvidia.com/rail", "rail", VERBS,
           mtus=_IPOIB, mtu=4_092, source=_WHOLE),
    Access("aks", "infiniband", "", "host-device", "function plugin", "devices", "rdma/ib", env=VERBS,
           source=_AKS.format("sriov-device-plugin/sriov.yaml: functions come with the machine, no network is made")),
    Access("aks", "infiniband", "", "shared", "shared plugin", "flag", "rdma/shared_ib", env=VERBS,
           source=_AKS.format("rdma-shared-device-plugin/rdma.yaml")),
    Access("oci", "roce", "", "sriov", "SR-IOV operator", "devices", "nvidia.com/rdma-vf", "device", OCI,
           mtus=(4_220, 4_220), mtu=4_220, subnet="192.168.0.0/16", needs_addresses=True, externally_managed=True,
           source="oci-hpc-oke 26.7.0: terraform/files/nvidia-network-operator; variables.tf: nv-ipam's subnet"),
    Access("lab", "roce", "", "cloud", "cloud", "devices", "rdma/hca", env=VERBS, source="our own lab: KWOK hosts"),
    Access("lab", "infiniband", "", "cloud", "cloud", "devices", "rdma/hca", env=VERBS,
           source="our own lab: KWOK hosts"),
)  # fmt: skip
"""The first of a target and fabric is its default."""
