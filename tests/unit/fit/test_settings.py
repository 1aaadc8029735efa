"""How an engine was started is read from what it prints of itself."""

from __future__ import annotations

from typing import Any

import pytest

from infra.fit.settings import settings

LINES = {
    "vllm 0.5, all arguments": (
        "INFO 06-28 23:40:03 api_server.py:206] vLLM API server version 0.5.0.post1\n"
        "INFO 06-28 23:40:03 api_server.py:207] args: Namespace(host='0.0.0.0', port=5063, gpu_memory_utilization=0.95,"
        " tensor_parallel_size=2, max_num_seqs=256, max_num_batched_tokens=None, enforce_eager=False)",
        {"version": "0.5.0.post1", "utilisation": 0.95, "tensor": 2, "max_seqs": 256, "eager": False},
    ),
    "vllm 0.24, what differs from defaults": (
        "(APIServer pid=1) INFO 07-06 22:50:34 [api_utils.py:273] non-default args: {'model_tag': '/m/qwen', 'model':"
        " '/m/qwen', 'dtype': 'bfloat16', 'max_model_len': 131072, 'quantization': 'modelopt', 'kv_cache_dtype': 'fp8',"
        " 'enable_prefix_caching': True, 'max_num_batched_tokens': 8192, 'max_num_seqs': 1, 'speculative_config':"
        " {'method': 'mtp', 'num_speculative_tokens': 3}}\n"
        "(EngineCore pid=107) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: mo",
        {"version": "0.24.0", "model": "/m/qwen", "dtype": "bfloat16", "max_len": 131072, "quantisation": "modelopt",
         "kv_dtype": "fp8", "prefix_caching": True, "batched_tokens": 8192, "max_seqs": 1, "speculative_tokens": 3},
    ),
    "vllm 0.32, the engine's last word": (
        "non-default args: {'model': '/models', 'max_model_len': 8192, 'enforce_eager': True}\n"
        "Using max model len 4096\n"
        "Initializing a V1 LLM engine (v0.32.0) with config: model='/models', dtype=torch.bfloat16, max_seq_len=4096,"
        " tensor_parallel_size=1, quantization=None, kv_cache_dtype=auto, enable_prefix_caching=True",
        {"version": "0.32.0", "model": "/models", "dtype": "bfloat16", "max_len": 4096, "eager": True, "tensor": 1,
         "prefix_caching": True},
    ),
    "vllm, a default that an old engine prints alone": (
        "INFO Chunked prefill is enabled with max_num_batched_tokens=2048.",
        {"batched_tokens": 2048},
    ),
    "sglang 0.5": (
        "[2025-10-02 21:34:32] server_args=ServerArgs(model_path='/m/DeepSeek-R1', trust_remote_code=True,"
        " context_length=65535, quantization='fp8', kv_cache_dtype='auto', mem_fraction_static=0.92,"
        " max_running_requests=32, chunked_prefill_size=16384, page_size=64, tp_size=8, pp_size=1,"
        " disable_cuda_graph=False)",
        {"model": "/m/DeepSeek-R1", "max_len": 65535, "quantisation": "fp8", "utilisation": 0.92, "max_seqs": 32,
         "batched_tokens": 16384, "block_tokens": 64, "tensor": 8, "pipeline": 1, "eager": False},
    ),
    "tensorrt-llm through dynamo": (
        "TensorRT-LLM engine args: {'tensor_parallel_size': 8, 'pipeline_parallel_size': 1, 'max_batch_size': 256,"
        " 'max_num_tokens': 16384, 'max_seq_len': 131072}",
        {"tensor": 8, "pipeline": 1, "max_seqs": 256, "batched_tokens": 16384, "max_len": 131072},
    ),
    "tgi 3, one argument a line": (
        '2025-07-04T12:35:02.586768Z  INFO text_generation_launcher: Args {\n    model_id: "/models/gemma-3-27b-it",\n'
        "    num_shard: Some(\n        2,\n    ),\n"
        "2025-07-04T12:35:03.0Z  INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 8000\n"
        "2025-07-04T12:35:03.0Z  INFO text_generation_launcher: Sharding model on 2 processes\n",
        {"model": "/models/gemma-3-27b-it", "tensor": 2, "batched_tokens": 8000},
    ),
    "lightllm, all arguments": (
        "INFO 01-12 13:46:46 [api_start.py:260] all start args:Namespace(run_mode='normal', model_dir='/m/llama', tp=2,"
        " max_total_token_num=None, mem_fraction=0.85, batch_max_tokens=8192, max_req_total_len=16384,"
        " running_max_req_size=1000, disable_cudagraph=False)",
        {"model": "/m/llama", "tensor": 2, "utilisation": 0.85, "batched_tokens": 8192, "max_len": 16384,
         "max_seqs": 1000, "eager": False},
    ),
    "a line that only looks like arguments": ("loading max_model_len=5 of tensor_parallel_size=9", {}),
}  # fmt: skip
"""Lines of vllm#5976, club-3090#612, this lab, sglang#10571 and dynamo, and as TGI and LightLLM word theirs."""


@pytest.mark.parametrize(("text", "said"), LINES.values(), ids=LINES.keys())
def test_arguments_are_read(text: str, said: dict[str, Any]) -> None:
    """Those that are printed, and no others."""
    found = settings(text.splitlines())
    assert {name: value for name in found.__slots__ if (value := getattr(found, name)) is not None} == said
