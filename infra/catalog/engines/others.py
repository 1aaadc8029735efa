"""SGLang, TensorRT-LLM, TGI and LightLLM: what each one's share of memory is a share of."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.engines.engine import Batch, Engine
from infra.units import GIB, MIB

_SERVE = (300, 15)
_RANKS = (round(0.25 * GIB), round(2.1 * GIB))
"""As vLLM logs it; none of the others logs it (bytes)."""

SGLANG = (
    Engine("sglang", (0, 5), 0.88, round(1.85 * GIB), _RANKS, 1, *_SERVE, 30_000, "/health_generate",
           "sglang server_args.py, memory settings: reserve 512 MiB, 1.5 MiB a token of a prefill chunk, 2 MiB a "
           "request in graphs, 1 GiB for eight ranks, 10 GiB at least above 60 GiB; reported in vllm#21348",
           (Batch(160, 16_384, 512), Batch(60, 8_192, 512), Batch(35, 4_096, 160), Batch(20, 2_048, 80),
            Batch(0, 2_048, 24)), 14, 118 * MIB, budget="static", adapts_share=True),
)  # fmt: skip
"""``mem_fraction_static`` is a share of the total and holds weights and the pool."""

TRTLLM = (
    Engine("trtllm", (1, 0), 0.90, round(1.85 * GIB), _RANKS, 32, 600, 15, 8000, "/health",
           "TensorRT-LLM docs, perf-overview (free_gpu_memory_fraction 0.90); _torch/pyexecutor, maximum memory: "
           "share of the total less the peak that a trial run saw; max_num_tokens 8192, max_batch_size 2048",
           (Batch(0, 8_192, 2_048),), 14, 118 * MIB, budget="left", counts_graphs=True),
)  # fmt: skip
"""``free_gpu_memory_fraction`` is a share of what is free after load."""

_TGI = Engine(
    "tgi", (2, 3), 0.90, round(1.85 * GIB), _RANKS, 1, *_SERVE, 80, "/health",
    "text-generation-inference v2.3.0 to v2.4.1, server/models/flash_causal_lm.py and globals.py: 0.90 "
    "(TGI_WIGGLE_ROOM, 0.95 in some) of what is free after the warm-up of a prefill of max-batch-prefill-tokens, 4096",
    (Batch(0, 4_096, 128),), 14, 118 * MIB, budget="left", counts_graphs=False,
)  # fmt: skip
TGI = (
    replace(_TGI, since=(3, 0), budget="requested", adapts_batch=True,
            source="text-generation-inference v3.0.0 to v3.3.7: 0.90 (0.95 in v3.0.0) of the total less what the "
            "warm-up left in use; launcher/src/main.rs, the prefill batch follows from the GPU's peak"),
    _TGI,
)  # fmt: skip
"""Keeps a tenth, of what a warm-up leaves before 3.0 and of the total since; graphs come out of it."""

LIGHTLLM = (
    Engine("lightllm", (1, 0), 0.90, round(1.85 * GIB), _RANKS, 1, *_SERVE, 8000, "/health",
           "lightllm common/mem_manager.py: free after load less (1 - mem_fraction) of the total; mem_fraction 0.9; "
           "batch_max_tokens 8192 with chunked prefill, running_max_req_size 1000",
           (Batch(0, 8_192, 1_000),), 14, 118 * MIB, budget="static"),
)  # fmt: skip
"""``mem_fraction`` is a share of the total; what the rest cannot hold fails in service."""
