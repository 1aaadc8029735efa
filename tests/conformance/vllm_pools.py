"""Divide KV pools with vLLM's own code; runs in the lab's engine environment, with its Python.

A script: reads a list of cases as JSON from standard input, writes a list of answers as JSON to the file named as its
argument. Each model is built from a config.json on the meta device, with process groups that move nothing, so that
any number of ranks fits into one process.
"""

# mypy: ignore-errors
# Its imports are there only inside the engine.

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from vllm.config import VllmConfig, get_layers_from_vllm_config, set_current_vllm_config
from vllm.distributed import parallel_state
from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator
from vllm.distributed.device_communicators.shm_broadcast import MessageQueue
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.model_executor.models.deepseek_v2 import DeepseekV32IndexerCache
from vllm.platforms import current_platform
from vllm.v1.core import kv_cache_utils

LAYOUT = "LBNHC"
"""Layer-outermost, which vLLM prefers on GPUs; the CPU's own differs from it only in the order within a page."""


RUNNER = VllmConfig.use_v2_model_runner
"""Whether the second model runner is used; not on a CPU, while GPUs have it by default."""


def stand_alone() -> None:
    """Keep processes from looking for each other, and answers from what the processor can do."""
    MessageQueue.create_from_process_group = staticmethod(lambda *_, **__: None)
    # Where a processor has the kernels for it, ranks share memory by the name of an instance, and no worker names one.
    CpuCommunicator._all_group_ranks_share_shm_group_name = lambda *_, **__: False
    # Nor does a processor with kernels for bf16 keep states of gated delta nets as GPUs do, but in float32.
    torch.cpu._is_avx512_bf16_supported = lambda: False
    parallel_state.in_the_same_node_as = lambda *_, **__: [True] * dist.get_world_size()
    new_group = dist.new_group
    dist.new_group = lambda ranks=None, *_, **__: new_group(ranks, backend="fake")


def engine_config(case: dict, folder: str) -> VllmConfig:
    """Configure the engine for one case."""
    # Sparse attention has no kernel for a CPU: such a model is built without its indexers, which follow below.
    fields = case["config"]
    if case["sparse"]:
        dense = {key: value for key, value in fields.items() if not key.startswith("index_")}
        fields = dense | {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3"}
    Path(folder, "config.json").write_text(json.dumps(fields))
    ranks = case["tensor"] * case["pipeline"]
    drafted = case["speculative_tokens"]
    config = EngineArgs(
        model=folder,
        skip_tokenizer_init=True,
        load_format="dummy",
        enforce_eager=True,
        max_model_len=case["max_len"],
        max_num_batched_tokens=case["batched_tokens"],
        max_num_seqs=case["max_seqs"],
        block_size=case["block_tokens"],
        kv_cache_dtype="auto" if case["sparse"] else case["kv_dtype"],
        enable_prefix_caching=case["prefix_caching"],
        tensor_parallel_size=case["tensor"],
        pipeline_parallel_size=case["pipeline"],
        distributed_executor_backend="mp" if ranks > 1 else None,
        speculative_config={"method": "mtp", "num_speculative_tokens": drafted} if drafted else None,
    ).create_engine_config()
    config.scheduler_config.async_scheduling = True
    config.cache_config.kv_cache_layout = LAYOUT
    return config


def make_sparse(case: dict, config: VllmConfig) -> None:
    """Give each MLA layer the packed format and an indexer, as vLLM's model with sparse attention does."""
    width = case["config"]["index_head_dim"]
    for name, layer in get_layers_from_vllm_config(config, AttentionLayerBase).items():
        layer.kv_cache_dtype = case["kv_dtype"]
        DeepseekV32IndexerCache(width + width // 128 * 4, torch.uint8, f"{name}.indexer", config.cache_config)


def kept(case: dict, stage: int) -> tuple[VllmConfig, dict]:
    """Build what the first rank of a pipeline stage holds, and ask each layer what it keeps."""
    world = case["tensor"] * case["pipeline"]
    with tempfile.TemporaryDirectory() as folder:
        config = engine_config(case, folder)
        rank = stage * case["tensor"]
        dist.init_process_group(backend="fake", store=FakeStore(), rank=rank, world_size=world)
        with set_current_vllm_config(config):
            parallel_state.init_distributed_environment(world, rank, "env://", 0, backend="fake")
            parallel_state.initialize_model_parallel(case["tensor"], case["pipeline"], backend="fake")
            with torch.device("meta"):
                initialize_model(config)
                if config.speculative_config and stage == case["pipeline"] - 1:
                    initialize_model(config, model_config=config.speculative_config.draft_model_config)
            if case["sparse"]:
                make_sparse(case, config)
        current_platform.update_block_size_for_backend(config)
        layers = get_layers_from_vllm_config(config, AttentionLayerBase)
        specs = {name: spec for name, layer in layers.items() if (spec := layer.get_kv_cache_spec(config)) is not None}
        parallel_state.destroy_model_parallel()
        parallel_state.destroy_distributed_environment()
        return config, specs


def answer(case: dict) -> dict:
    """Divide the pools of all stages as the engine core does at its start."""
    stages = [kept(case, stage) for stage in range(case["pipeline"])]
    config, specs = stages[0][0], [specs for _, specs in stages]
    budgets = [case["pool_bytes"]] * case["pipeline"]
    # It decides how many batches are in flight, and no config that says so can be made on a CPU.
    VllmConfig.use_v2_model_runner = property(lambda _: True)
    divided = kv_cache_utils.get_kv_cache_configs(config, specs, budgets)
    tokens, concurrency = kv_cache_utils.get_kv_cache_capacity(config, divided[0])
    longest = []
    for stage in divided:
        free = case["pool_bytes"] - kv_cache_utils._pool_bytes_per_block(config, stage.kv_cache_groups)
        longest.append(kv_cache_utils._estimate_max_model_len_from_groups(config, stage.kv_cache_groups, free))
    return {
        "blocks": divided[0].num_blocks,
        "groups": sorted(
            [sum(len(stage.kv_cache_groups[number].layer_names) for stage in divided), group.kv_cache_spec.block_size]
            for number, group in enumerate(divided[0].kv_cache_groups)
        ),
        "bytes_per_block": max(
            kv_cache_utils._pool_bytes_per_block(config, stage.kv_cache_groups) for stage in divided
        ),
        "tokens": tokens,
        "concurrency": concurrency,
        "longest": min(longest),
    }


def main() -> None:
    """Answer every case; one that vLLM refuses says why."""
    stand_alone()
    answers = []
    for case in json.load(sys.stdin):
        VllmConfig.use_v2_model_runner = RUNNER
        try:
            answers.append(answer(case))
        except Exception as error:
            answers.append({"error": f"{type(error).__name__}: {error}"})
            if dist.is_initialized():
                parallel_state.destroy_model_parallel()
                parallel_state.destroy_distributed_environment()
    Path(sys.argv[1]).write_text(json.dumps(answers))


main()
