"""Number formats that a pod asks for, under the names of vLLM and of our catalog."""

from __future__ import annotations

from infra.catalog.architecture import Architecture
from infra.catalog.origins import PUBLISHED
from infra.catalog.quantisations import QUANTISATIONS, Quantisation
from policies.engine import Engine
from policies.resource import annotation

OURS = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "modelopt": "fp8",
    "modelopt_fp4": "nvfp4",
    "modelopt_mxfp8": "mxfp8",
    "mxfp4": "mxfp4",
    "awq": "awq",
    "awq_marlin": "awq",
    "auto_awq": "awq",
    "gptq": "gptq",
    "gptq_marlin": "gptq",
    "auto_gptq": "gptq",
    "moe_wna16": "w4a16",
    "experts_int8": "w8a16",
}
"""Values of --quantization as the catalog names them. Source: vllm 0.32.0 model_executor/layers/quantization."""

PLAIN_BITS = 16
"""Bits of a value that no format replaces. Source: bfloat16 and IEEE 754 half precision."""


def format_of(engine: Engine) -> Quantisation | None:
    """Format of the weights: as the pod states it, as vLLM is told, or as the checkpoint is; None when nobody says."""
    stated = annotation(engine.pod, "quantisation").known()
    told = OURS.get(engine.flags.get("--quantization", ""), "")
    architecture = engine.architecture
    return QUANTISATIONS.get(str(stated or told or (architecture.quantisation if architecture else "")))


def cache_format(engine: Engine) -> str:
    """Format of cached keys and values, as vLLM is told."""
    return engine.flags.get("--kv-cache-dtype", "auto")


def is_published(form: Quantisation, architecture: Architecture | None) -> bool:
    """Whether the makers of a model published it in this format and in no larger one."""
    return bool(architecture and form.name in PUBLISHED.get(architecture.family, ()))


def weights_of(engine: Engine) -> float:
    """Fewest bytes that the weights of a known checkpoint take on all ranks together; 0 for an unknown one."""
    architecture, form = engine.architecture, format_of(engine)
    if architecture is None:
        return 0.0
    replaced = form.parts if form else ()
    return sum(
        tensor.parameters
        * (form.bits_per_value if form and tensor.part in replaced and tensor.columns > 1 else PLAIN_BITS)
        / 8
        for tensor in architecture.tensors()
    )
