"""vLLM: the memory rule changed with versions 0.11, 0.17 and 0.21, that of ranks with 0.29."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.engines.engine import Batch, Engine
from infra.units import GIB, MIB

_BATCHES = (
    Batch(160, 16_384, 1_024),
    Batch(70, 8_192, 1_024, not_on=("a100",)),
    Batch(0, 2_048, 256),
)
"""Source: vllm 0.32.0 engine/arg_utils.py, get_batch_defaults, for the API server; 0.10 had the two smaller ones,
which hold for GPUs of 70 GiB and more alike."""
_BATCHES_BEFORE_17 = (Batch(70, 8_192, 1_024, not_on=("a100",)), Batch(0, 2_048, 256))
_SEARCH = 14
"""bf16 logits 2, their float32 copy 4, probabilities 4, noise 4. Source: vllm 0.32.0 v1/sample, native path."""
_SORT = 38
"""Sorting adds values, indices and as much again to sort them into. Source: fitted on 0.11 logs, see calibration."""
_LOGS = "non-torch memory as the llm-d-planner 0.3.3 accuracy report logs it; "
_STOP = (16, 300, 15, 8000, "/v1/models")

_SINCE_21 = (
    Engine("vllm", (0, 21), 0.92, round(1.85 * GIB), (round(0.25 * GIB), round(2.1 * GIB)), *_STOP,
           _LOGS + "vllm 0.32.0 config/cache.py; CUDA graphs 0.11-1.85 GiB (its report), on by default since 0.21; "
           "experts on two ranks 5.0 GiB (0.042 of 119.6, eugr/spark-vllm-docker#396), 4.4 (vllm#37296)",
           _BATCHES, _SEARCH, 118 * MIB, counts_graphs=True, mixture_graphs_bytes=5 * GIB)
)  # fmt: skip

VLLM = (
    replace(_SINCE_21, since=(0, 29), expert_tile=32,
            source=_SINCE_21.source + "; vllm 0.29.0 to 0.32.0 fused_moe/oracle/fp8.py, refine_fp8_moe_block_shape: "
            "tiles of experts as small as 32, absent from 0.28.0; Triton kernels, so from 8.9 on, and not for the "
            "compressed-tensors format; older ones refuse (vllm#17569, #25292, #39046), as do others (sglang 0.5.23, "
            "TensorRT-LLM#14613) and as all do for dense layers (vllm#52915, sglang#3345)"),
    _SINCE_21,
    Engine("vllm", (0, 17), 0.90, round(1.85 * GIB), (round(0.25 * GIB), round(2.1 * GIB)), *_STOP,
           _LOGS + "vllm#33538 (Triton top-k and top-p, 2026-02) ended the sort",
           _BATCHES, _SEARCH, 118 * MIB),
    Engine("vllm", (0, 10), 0.90, round(1.85 * GIB), (round(0.14 * GIB), round(0.55 * GIB)), *_STOP,
           "llm-d-planner docs/empirical-vllm-memory-results.md (vLLM 0.11): non-torch 0.13-0.14, two ranks 0.54; "
           "gpt-oss on Hopper took Marlin's space unless Triton kernels were installed (vllm#23278, #27508)",
           _BATCHES_BEFORE_17, _SORT, 60 * MIB, lacks=("mxfp4-triton",), profiles_longest_video=True),
)  # fmt: skip
"""Newest first. Version 0.21 began to take CUDA graphs off before the KV pool, 0.29 to cut tiles of experts."""
