"""How an engine was started, from the lines in which it prints its own arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SAID_BY = (
    "non-default args", "args: Namespace(", "LLM engine (", "LLM engine with config", "Chunked prefill is enabled",
    "Using max model len", "server_args=", "max_total_num_tokens=", "LLM Args:", "engine args:", "all start args:",
    "model_id: ", "Sharding model on", "Default `max_batch_prefill_tokens`",
)  # fmt: skip
"""Lines that print arguments; the later ones print what the engine made of the earlier ones."""

VERSIONS = (
    r"LLM engine \(v?(\d+\.\d+[\w.+]*)\)",
    r"API server version:? v?(\d+\.\d+[\w.+]*)",
    r"█.* version v?(\d+\.\d+[\w.+]*)",
    r"(?i)sglang[ _]version[=:]? ?'?v?(\d+\.\d+[\w.+]*)",
    r"TensorRT-LLM version: v?(\d+\.\d+[\w.+]*)",
)
"""Wordings of an engine's own version."""

VERSION_MARKS = ("ersion", "LLM engine (")
"""Text that a line with a version has."""

_TEXT = {"model_tag": "model", "model": "model", "model_path": "model", "model_dir": "model", "model_id": "model",
         "kv_cache_dtype": "kv_dtype", "quantization": "quantisation", "dtype": "dtype"}  # fmt: skip
_COUNT = {
    "tensor_parallel_size": "tensor", "tp_size": "tensor", "tp": "tensor", "pipeline_parallel_size": "pipeline",
    "pp_size": "pipeline", "data_parallel_size": "data", "dp_size": "data", "max_model_len": "max_len",
    "max_seq_len": "max_len", "context_length": "max_len", "context_len": "max_len", "max_req_total_len": "max_len",
    "max_num_seqs": "max_seqs", "max_running_requests": "max_seqs", "max_batch_size": "max_seqs",
    "running_max_req_size": "max_seqs", "max_num_batched_tokens": "batched_tokens",
    "chunked_prefill_size": "batched_tokens", "max_num_tokens": "batched_tokens",
    "batch_max_tokens": "batched_tokens", "block_size": "block_tokens", "page_size": "block_tokens",
    "num_speculative_tokens": "speculative_tokens",
}  # fmt: skip
_SHARE = {"gpu_memory_utilization": "utilisation", "mem_fraction_static": "utilisation",
          "mem_fraction": "utilisation", "free_gpu_memory_fraction": "utilisation"}  # fmt: skip
_SWITCH = {"enforce_eager": "eager", "disable_cuda_graph": "eager", "disable_cudagraph": "eager",
           "enable_expert_parallel": "expert_parallel", "enable_prefix_caching": "prefix_caching"}  # fmt: skip
_KEYS = {**_TEXT, **_COUNT, **_SHARE, **_SWITCH}
_PAIR = re.compile(
    rf"(?<![\w-])['\"]?({'|'.join(_KEYS)})['\"]?\s*[=:]\s*(?:'([^']*)'|\"([^\"]*)\"|([\w./-]+))", re.ASCII
)
_SENTENCES = {
    "max_len": re.compile(r"Using max model len (\d{1,12})\b"),
    "tensor": re.compile(r"Sharding model on (\d{1,12}) processes"),
    "batched_tokens": re.compile(r"Default `max_batch_prefill_tokens` to (\d{1,12})\b"),
}
"""Arguments that are told in words."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Arguments of an engine; None where its log does not say."""

    version: str | None = None
    model: str | None = None
    """Name or path, as it was given."""
    dtype: str | None = None
    quantisation: str | None = None
    """As the engine names it."""
    kv_dtype: str | None = None
    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None
    expert_parallel: bool | None = None
    utilisation: float | None = None
    """The engine's own share of memory."""
    max_len: int | None = None
    """Longest request (tokens)."""
    max_seqs: int | None = None
    """Requests in one batch (count)."""
    batched_tokens: int | None = None
    """Tokens in one batch."""
    block_tokens: int | None = None
    speculative_tokens: int | None = None
    """Tokens that a drafter proposes (count)."""
    eager: bool | None = None
    prefix_caching: bool | None = None


def settings(lines: Iterable[str]) -> Settings:
    """Read what the engine says of itself; the last word on each argument holds."""
    said: dict[str, Any] = {}
    version = None
    for line in lines:
        version = version or _version(line)
        if not any(mark in line for mark in SAID_BY):
            continue
        for name, sentence in _SENTENCES.items():
            if found := sentence.search(line):
                said[name] = int(found[1])
        for key, *texts in _PAIR.findall(line):
            value = _value(key, next((text for text in texts if text), "").rstrip("."))
            if value is not None:
                said[_KEYS[key]] = value
    return Settings(version=version, **said)


def _version(line: str) -> str | None:
    if not any(mark in line for mark in VERSION_MARKS):
        return None
    return next((found[1] for wording in VERSIONS if (found := re.search(wording, line))), None)


def _value(key: str, text: str) -> str | int | float | bool | None:
    if text in ("", "None", "auto"):
        return None
    if key in _SWITCH:
        return {"True": True, "False": False}.get(text)
    if key in _COUNT:
        return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None
    if key in _SHARE:
        return float(text) if re.fullmatch(r"\d*\.?\d+", text) else None
    return text.removeprefix("torch.")
