"""GPUs we plan for: three memory numbers each, because confusing them costs up to 12 GiB of phantom KV cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model, as its driver and PyTorch see it."""

    name: str
    memory_marketing_gb: int
    """What the data sheet calls it (GB); never used for sizing."""
    memory_smi_mib: int
    """``memory.total`` of nvidia-smi (MiB)."""
    memory_torch_gib: float
    """Total that PyTorch reports (GiB); the engine multiplies this one by its utilisation."""
    hbm_gb_s: int
    """Peak memory bandwidth (GB/s)."""
    pcie_gb_s: int
    """Host link, one direction (GB/s)."""
    compute_capability: str
    product: str
    """Value of the node label ``nvidia.com/gpu.product``."""
    family: str
    """Value of the node label ``nvidia.com/gpu.family``."""
    source: str


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("h100", 80, 81_559, 79.19, 3_350, 64, "9.0", "NVIDIA-H100-80GB-HBM3", "hopper",
            "nvidia-smi in vllm#27508; torch total in the llm-d-planner 0.3.3 accuracy report"),
        Gpu("h200", 141, 143_771, 139.8, 4_800, 64, "9.0", "NVIDIA-H200", "hopper",
            "nvidia-smi in vllm-project/recipes#381; torch total by the same ratio as H100"),
        Gpu("b200", 180, 183_359, 178.4, 7_700, 64, "10.0", "NVIDIA-B200", "blackwell",
            "public nvidia-smi outputs; bandwidths of aiconfigurator systems/b200_sxm.yaml, 2026-08-21"),
        Gpu("b300", 288, 275_040, 268.6, 7_750, 128, "10.3", "NVIDIA-B300-SXM6-AC", "blackwell",
            "public nvidia-smi outputs (driver 580.105.08); aiconfigurator systems/b300_sxm.yaml, 2026-08-21"),
    )
}  # fmt: skip
"""By name. Torch totals above smi MiB / 1024 are not possible; a contract test checks every row."""
