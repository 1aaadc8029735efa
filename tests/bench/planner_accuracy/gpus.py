"""GPUs that published logs come from and that nobody serves from: only what sizing needs of them."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.gpus import GPUS, Gpu

_SEEN = {
    "rtx-3090": (24, 23.58, "8.6", "vllm#10517"),
    "rtx-4090": (24, 23.08, "8.9", "vllm#13061"),
    "rtx-5090": (32, 31.84, "12.0", "noonghunna/club-3090 models/qwen3.6-27b dual nvfp4 mtp.yml"),
    "a100-40gb": (40, 39.39, "8.0", "vLLM logs of A100-SXM4-40GB"),
    "a6000": (48, 47.43, "8.6", "vLLM logs of RTX A6000"),
}
"""Name → marketing GB, torch GiB, compute capability, source."""

KNOWN: dict[str, Gpu] = GPUS | {
    name: replace(
        GPUS["a100" if name.startswith("a100") else "l40s"],
        name=name,
        memory_marketing_gb=marketing,
        memory_smi_mib=round(torch * 1024),
        memory_torch_gib=torch,
        compute_capability=capability,
        source=source,
    )
    for name, (marketing, torch, capability, source) in _SEEN.items()
}
"""By name; the catalog's and these."""
