"""Shapes of Azure, OCI and CoreWeave: the cloud attaches the network cards by itself."""

from __future__ import annotations

from infra.catalog.shapes.shape import Shape

_AZURE = "Azure compute docs, nd-{}-v5-series.md; resource of the shared plugin: aks-rdma-infiniband, 2026-07"
_OCI = "oci-hpc-oke 26.7.0, shapes and VF policies; cores and memory: OCI compute shapes"
_CKS = "CoreWeave docs, GPU instances and Use RDMA on CKS: rdma/ib is a flag, not a count of cards"

SHAPES = (
    Shape("Standard_ND96isr_H100_v5", "aks", "hgx-h100", "infiniband", "", (), 8, 400, "rdma/ib", 8, 96, 1_900, 0,
          ("on-demand", "reservation"), _AZURE.format("h100")),
    Shape("Standard_ND96isr_H200_v5", "aks", "hgx-h200", "infiniband", "", (), 8, 400, "rdma/ib", 8, 96, 1_850, 0,
          ("on-demand", "reservation"), _AZURE.format("h200")),
    Shape("BM.GPU.H100.8", "oci", "hgx-h100", "roce", "", (), 16, 200, "nvidia.com/rdma-vf", 16, 224, 2_048, 0,
          ("on-demand", "reservation"), _OCI, metal=True),
    Shape("BM.GPU.H200.8", "oci", "hgx-h200", "roce", "", (), 8, 400, "nvidia.com/rdma-vf", 8, 224, 3_072, 0,
          ("on-demand", "reservation"), _OCI, metal=True),
    Shape("BM.GPU.B200.8", "oci", "hgx-b200", "roce", "", (), 8, 400, "nvidia.com/rdma-vf", 8, 256, 4_096, 0,
          ("on-demand", "reservation"), _OCI, metal=True),
    Shape("BM.GPU.B300.8", "oci", "hgx-b300", "roce", "", (), 16, 400, "nvidia.com/rdma-vf", 16, 512, 4_096, 0,
          ("on-demand", "reservation"), _OCI, metal=True),
    Shape("gd-8xh100ib-i128", "coreweave", "hgx-h100", "infiniband", "", (), 8, 400, "rdma/ib", 1, 128, 2_048, 0,
          ("on-demand", "reservation"), _CKS, metal=True),
    Shape("gd-8xh200ib-i128", "coreweave", "hgx-h200", "infiniband", "", (), 8, 400, "rdma/ib", 1, 128, 2_048, 0,
          ("on-demand", "reservation"), _CKS, metal=True),
)  # fmt: skip
"""With eight GPUs each."""
