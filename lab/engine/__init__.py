"""The real engine of the lab, vLLM on the CPU, and the tiny model it serves."""

from lab.engine import tiny_model, vllm
from lab.engine.vllm import EngineRuntime
from lab.steps import Report

__all__ = ["EngineRuntime", "ensure"]


def ensure(report: Report) -> None:
    """Install the engine and make its model, unless they are there.

    Raises:
        CheckError: a download, the engine's first import or the making of the model failed.
    """
    vllm.ensure(report)
    tiny_model.ensure(report)
