"""Import what a start imports, so that byte code and the engine's own notes on the model class are kept.

A script, not part of the lab's imports; runs in the engine's environment, with its folder writable. A start of the
engine imports everything three times in three processes: from a read-only folder without byte code that is minutes.
"""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "vllm.entrypoints.cli.main",
    "vllm.entrypoints.cli.benchmark.main",
    "vllm.entrypoints.cli.collect_env",
    "vllm.entrypoints.cli.download_kernels",
    "vllm.entrypoints.cli.launch",
    "vllm.entrypoints.cli.openai",
    "vllm.entrypoints.cli.preload",
    "vllm.entrypoints.cli.run_batch",
    "vllm.entrypoints.cli.serve",
    "vllm.entrypoints.cli.snapshot",
    "vllm.entrypoints.openai.api_server",
    "vllm.v1.engine.core",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.worker.cpu_worker",
    "vllm.model_executor.models.llama",
)
"""What the three processes of a start import at their top."""

ARCHITECTURE = "LlamaForCausalLM"
"""Model class whose properties are looked up; without the kept answer each start asks a fourth process."""


def main() -> None:
    """Import, and look the model class up as the engine does at a start."""
    for module in MODULES:
        import_module(module)
    registry = import_module("vllm.model_executor.models.registry").ModelRegistry
    registry.models[ARCHITECTURE].inspect_model_cls()


if __name__ == "__main__":
    main()
