"""GPUs we plan for: three memory numbers each, because confusing them costs up to 12 GiB of phantom KV cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Dense arithmetic peaks by data type; None where the GPU has no unit for it."""

    bf16_tflops: float
    fp8_tflops: float | None
    fp4_tflops: float | None
    int8_tops: float


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
    peaks: Peaks
    hbm_measured_gb_s: int | None
    """Memory bandwidth that a triad reached (GB/s)."""
    nvlink_gb_s: int
    """NVLink of one GPU, one direction (GB/s); 0: none."""
    nvlink_domain: int
    """GPUs that reach each other over NVLink (count); 1: none."""
    per_host: int
    """GPUs of one host as it is usually built (count)."""
    nics_per_gpu: int
    """Compute NICs of its own (count); 0: shared or as the builder likes."""
    nic_gbit: int
    """Speed of one such NIC (Gbit/s)."""
    power_w: int
    """Thermal design power (W)."""

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability as a pair that compares."""
        major, minor = self.compute_capability.split(".")
        return int(major), int(minor)


_HOPPER = Peaks(bf16_tflops=989, fp8_tflops=1979, fp4_tflops=None, int8_tops=1979)
_AIC = "aiconfigurator systems/{}.yaml, 2026-08-21"
_TORCH = "; torch total: what the driver reports less 0.5 GiB, as on H100"
_SHEET = "NVIDIA data sheet, from memory" + _TORCH

GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("h100", 80, 81_559, 79.19, 3_350, 64, "9.0", "NVIDIA-H100-80GB-HBM3", "hopper",
            "nvidia-smi in vllm#27508; torch total in the llm-d-planner 0.3.3 accuracy report; peaks of "
            + _AIC.format("h100_sxm") + "; triad of Azure AI-benchmarking-guide, ND H100 v5",
            _HOPPER, 2_970, 450, 8, 8, 1, 400, 700),
        Gpu("h100-pcie", 80, 81_559, 79.1, 2_000, 64, "9.0", "NVIDIA-H100-PCIe", "hopper",
            _AIC.format("h100_pcie") + _TORCH + "; NVLink only with bridges, between two",
            Peaks(bf16_tflops=756, fp8_tflops=1513, fp4_tflops=None, int8_tops=1513), None, 300, 2, 8, 0, 0, 350),
        Gpu("h100-nvl", 94, 95_830, 93.1, 3_900, 64, "9.0", "NVIDIA-H100-NVL", "hopper",
            _SHEET + "; NVLink bridge between two",
            Peaks(bf16_tflops=835, fp8_tflops=1671, fp4_tflops=None, int8_tops=1671), None, 300, 2, 8, 0, 0, 400),
        Gpu("h200", 141, 143_771, 139.8, 4_800, 64, "9.0", "NVIDIA-H200", "hopper",
            "nvidia-smi in vllm-project/recipes#381; torch total by the same ratio as H100; peaks of "
            + _AIC.format("h200_sxm") + "; triad of Azure AI-benchmarking-guide, ND H200 v5",
            _HOPPER, 4_150, 450, 8, 8, 1, 400, 700),
        Gpu("h20", 96, 97_871, 95.1, 4_000, 64, "9.0", "NVIDIA-H20", "hopper", _SHEET,
            Peaks(bf16_tflops=148, fp8_tflops=296, fp4_tflops=None, int8_tops=296), None, 450, 8, 8, 1, 400, 400),
        Gpu("b200", 180, 183_359, 178.4, 7_700, 64, "10.0", "NVIDIA-B200", "blackwell",
            "public nvidia-smi outputs; bandwidths of aiconfigurator systems/b200_sxm.yaml, 2026-08-21",
            Peaks(bf16_tflops=2250, fp8_tflops=4500, fp4_tflops=9000, int8_tops=4500),
            None, 900, 8, 8, 1, 400, 1000),
        Gpu("b300", 288, 275_040, 268.6, 7_750, 128, "10.3", "NVIDIA-B300-SXM6-AC", "blackwell",
            "public nvidia-smi outputs (driver 580.105.08); aiconfigurator systems/b300_sxm.yaml, 2026-08-21",
            # INT8 is 1/29 of a B200's: the unit was given up for FP4.
            Peaks(bf16_tflops=2250, fp8_tflops=4500, fp4_tflops=14000, int8_tops=153.5),
            None, 900, 8, 8, 1, 800, 1100),
        Gpu("gb200", 192, 189_471, 184.5, 8_000, 450, "10.0", "NVIDIA-GB200", "blackwell",
            _AIC.format("gb200") + _TORCH + "; 18 trays of four in one NVLink domain; host link is NVLink-C2C",
            Peaks(bf16_tflops=2500, fp8_tflops=5000, fp4_tflops=10000, int8_tops=5000),
            None, 900, 72, 4, 1, 400, 1200),
        Gpu("gb300", 288, 284_208, 277.0, 8_000, 450, "10.3", "NVIDIA-GB300", "blackwell",
            _AIC.format("gb300") + _TORCH + "; 18 trays of four in one NVLink domain; host link is NVLink-C2C",
            Peaks(bf16_tflops=2500, fp8_tflops=5000, fp4_tflops=15000, int8_tops=165),
            None, 900, 72, 4, 1, 800, 1400),
        Gpu("rtx-pro-6000", 96, 97_887, 95.0, 1_792, 64, "12.0",
            "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "blackwell",
            _AIC.format("rtx_pro_6000_server") + _TORCH,
            Peaks(bf16_tflops=468, fp8_tflops=936, fp4_tflops=1871, int8_tops=936), None, 0, 1, 8, 0, 0, 600),
        Gpu("l40s", 48, 46_068, 44.4, 864, 32, "8.9", "NVIDIA-L40S", "ada-lovelace", _AIC.format("l40s") + _TORCH,
            Peaks(bf16_tflops=362, fp8_tflops=733, fp4_tflops=None, int8_tops=733), None, 0, 1, 8, 0, 0, 350),
        Gpu("l4", 24, 23_034, 22.0, 300, 32, "8.9", "NVIDIA-L4", "ada-lovelace", _AIC.format("l4") + _TORCH,
            Peaks(bf16_tflops=121, fp8_tflops=242, fp4_tflops=None, int8_tops=242), None, 0, 1, 8, 0, 0, 72),
        Gpu("a100", 80, 81_920, 79.1, 2_039, 32, "8.0", "NVIDIA-A100-SXM4-80GB", "ampere",
            _AIC.format("a100_sxm") + "; torch total as vLLM logs of 80 GB boards give it",
            Peaks(bf16_tflops=312, fp8_tflops=None, fp4_tflops=None, int8_tops=624), None, 300, 8, 8, 1, 200, 400),
        Gpu("a30", 24, 24_576, 23.5, 933, 32, "8.0", "NVIDIA-A30", "ampere", _AIC.format("a30") + _TORCH,
            Peaks(bf16_tflops=165, fp8_tflops=None, fp4_tflops=None, int8_tops=330), None, 100, 2, 8, 0, 0, 165),
    )
}  # fmt: skip
"""By name. Torch totals above smi MiB / 1024 are not possible; a contract test checks every row.

AMD's GPUs have no row: driver, device plugin and exporter of every target here are NVIDIA's.
"""
