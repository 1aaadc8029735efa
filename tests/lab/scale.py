"""A stack of 1,000 simulated hosts with 8,000 GPUs, and 50 models of mixed size on them."""

from __future__ import annotations

import copy
from typing import Any

Sections = dict[str, Any]

POOLS: Sections = {
    "large": {"board": "hgx-b300", "hosts": 480, "spare_hosts": 8, "fabric": "roce", "hosts_per_leaf": 32},
    "medium": {"board": "hgx-h200", "hosts": 320, "spare_hosts": 4, "fabric": "roce", "hosts_per_leaf": 32},
    "small": {"board": "hgx-h100", "hosts": 200, "spare_hosts": 4, "fabric": "roce", "hosts_per_leaf": 25},
}
"""Pools of simulated hosts; board of each: 8 GPUs."""

_IMAGE = "docker.io/vllm/vllm-openai@sha256:0a51ea5b4ae2dc5d81890e5173f54203d2a3ae0cfffe51b8fd2afd4391bfd967"
_L405, _L70, _L8 = (f"meta-llama/Llama-3.1-{size}" for size in ("405B-Instruct", "70B-Instruct", "8B-Instruct"))
_KINDS = (
    # models, checkpoint, pool, GPUs of a replica, replicas
    (10, _L405, "large", 8, 30),
    (5, _L70, "large", 4, 40),
    (10, _L70, "medium", 4, 24),
    (5, _L70, "medium", 8, 20),
    (20, _L8, "small", 1, 40),
)


def with_pools(spec: Sections) -> None:
    """Put the 1,000 hosts in the place of the lab's few; the lab's real hosts and what runs on them stay."""
    spec["pools"] = {**copy.deepcopy(POOLS), "lab": spec["pools"]["lab"]}
    spec["models"] = {name: model for name, model in spec["models"].items() if model["pool"] == "lab"}


def with_models(spec: Sections) -> None:
    """The same, and 50 models beside the one that really runs."""
    with_pools(spec)
    for count, checkpoint, pool, gpus, replicas in _KINDS:
        for number in range(count):
            name = f"{pool}-{gpus}-{number:02d}"
            spec["models"][name] = _model(checkpoint, pool, gpus, replicas)


def _model(checkpoint: str, pool: str, gpus: int, replicas: int) -> Sections:
    return {
        "architecture": checkpoint,
        "engine_version": "0.27.1",
        "image": _IMAGE,
        "pool": pool,
        "replicas": replicas,
        "tensor_parallel": gpus,
        "max_model_len": 32768,
        "concurrency": 8,
        "weights": {"host_path": ".lab/models/none", "read_gb_s": 5},
    }
