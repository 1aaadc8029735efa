"""Formats of weights: how many bits a value takes with its scales, what stays as it is, and which GPU runs it."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.architecture import Part
from infra.errors import ConfigError

LINEAR: frozenset[Part] = frozenset({"attention", "recurrent", "dense", "shared", "expert"})
"""Matrices that most formats replace; embedding, head, router, norms and vision towers stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """One format of weights."""

    name: str
    bits: float
    """Of one value of a replaced matrix (bits)."""
    row_bytes: float = 0
    """Scales of one output row (bytes)."""
    group: int = 0
    """Values that share a scale; 0: as the row (count)."""
    group_bits: int = 0
    """Scale and zero point of one group (bits)."""
    parts: frozenset[Part] = LINEAR
    """What it replaces."""
    tile: int = 1
    """Both sides of a matrix on one rank must be multiples of it (count)."""
    inputs: int = 1
    """Inputs of a matrix on one rank must be multiples of it, such as whole groups (count)."""
    outputs: int = 1
    """Outputs on one rank, of gate and up together, must be multiples of it (count)."""
    hidden_pad: int = 1
    """The kernel rounds the hidden side of experts up to multiples of it (count)."""
    width_pad: int = 1
    """The kernel rounds the inner side of experts on one rank up to multiples of it (count)."""
    least: tuple[int, int]
    """Least compute capability that loads it."""
    native: tuple[tuple[int, int], tuple[int, int]]
    """First and last compute capability whose arithmetic it is; elsewhere it saves memory, not time."""
    fallback: str = ""
    """Format that the weights take in memory where it is not native; empty: the same."""
    needs_evidence: bool = True
    """Whether accuracy may suffer, so that a record of the user's own task is asked for."""
    source: str

    @property
    def bits_per_value(self) -> float:
        """Bits of one value with its share of a group's scale."""
        return self.bits + (self.group_bits / self.group if self.group else 0)

    def is_native(self, capability: tuple[int, int]) -> bool:
        """Whether the GPU computes in this format."""
        first, last = self.native
        return first <= capability <= last

    def in_memory(self, capability: tuple[int, int]) -> Quantisation:
        """Format in which a GPU of this capability keeps the weights."""
        if self.is_native(capability) or not self.fallback:
            return self
        return QUANTISATIONS[self.fallback].in_memory(capability)


_ANY = (99, 0)
_VLLM = "vllm 0.32.0 model_executor/layers/quantization/{}"
_PLAIN = "size of the data type, IEEE 754 and bfloat16"

QUANTISATIONS = {
    row.name: row
    for row in (
        Quantisation(name="bf16", bits=16, parts=frozenset(), least=(8, 0), native=((8, 0), _ANY),
                     needs_evidence=False, source=_PLAIN),
        Quantisation(name="fp16", bits=16, parts=frozenset(), least=(7, 0), native=((7, 0), _ANY),
                     needs_evidence=False, source=_PLAIN),
        Quantisation(name="fp32", bits=32, parts=frozenset(), least=(7, 0), native=((7, 0), _ANY),
                     needs_evidence=False, source=_PLAIN),
        Quantisation(name="fp8", bits=8, row_bytes=4, least=(7, 5), native=((8, 9), _ANY),
                     source=_VLLM.format("fp8.py: a float32 scale for each row or tensor; Marlin W8A16 below 8.9")),
        Quantisation(name="fp8-block", bits=8, group=128 * 128, group_bits=32, tile=128, least=(7, 5),
                     native=((8, 9), _ANY),
                     source=_VLLM.format("utils/fp8_utils.py: 128 x 128 tiles, as in vllm 0.10.2 and sglang 0.5.23; "
                                         "reported in vllm#17569, #25292")),
        Quantisation(name="mxfp8", bits=8, group=32, group_bits=8, inputs=32, least=(8, 0), native=((10, 0), _ANY),
                     source=_VLLM.format("modelopt.py")),
        Quantisation(name="w8a8-int8", bits=8, row_bytes=4, least=(7, 5), native=((7, 5), (9, 0)),
                     source=_VLLM.format("compressed_tensors; vllm#25935: refused from 10.0 on")),
        Quantisation(name="w8a16", bits=8, group=128, group_bits=16, inputs=128, outputs=64, least=(7, 5),
                     native=((7, 5), _ANY), source=_VLLM.format("utils/marlin_utils.py, 8 bits")),
        Quantisation(name="w4a16", bits=4, group=128, group_bits=16, inputs=128, outputs=64, least=(7, 5),
                     native=((7, 5), _ANY), source=_VLLM.format("compressed_tensors_wNa16.py and marlin_utils.py")),
        Quantisation(name="w4a16-g32", bits=4, group=32, group_bits=16, inputs=32, outputs=64, least=(7, 5),
                     native=((7, 5), _ANY), source=_VLLM.format("compressed_tensors_wNa16.py, groups of 32")),
        Quantisation(name="awq", bits=4, group=128, group_bits=20, inputs=128, outputs=64, least=(7, 5),
                     native=((7, 5), _ANY), source=_VLLM.format("auto_awq.py; vllm#13640: 14,784 inputs refused")),
        Quantisation(name="gptq", bits=4, group=128, group_bits=20, inputs=128, outputs=64, least=(6, 0),
                     native=((7, 5), _ANY), source=_VLLM.format("auto_gptq.py and utils/marlin_utils.py")),
        Quantisation(name="w4a8-fp8", bits=4, group=128, group_bits=16, inputs=128, outputs=128, least=(9, 0),
                     native=((9, 0), (9, 0)), source=_VLLM.format("compressed_tensors_w4a8_fp8.py; vllm#35439")),
        Quantisation(name="nvfp4", bits=4, group=16, group_bits=8, inputs=16, least=(7, 5),
                     native=((10, 0), _ANY), source=_VLLM.format("modelopt.py; Marlin W4A16 on 7.5 to 9.0")),
        Quantisation(name="mxfp4", bits=4, group=32, group_bits=8, parts=frozenset({"expert"}), hidden_pad=256,
                     width_pad=128, inputs=32, least=(8, 0), native=((10, 0), _ANY), fallback="mxfp4-triton",
                     needs_evidence=False,
                     source=_VLLM.format("mxfp4.py and fused_moe/oracle/mxfp4.py; checkpoints are trained in it")),
        Quantisation(name="mxfp4-triton", bits=4, group=32, group_bits=8, parts=frozenset({"expert"}),
                     hidden_pad=256, width_pad=64, inputs=32, least=(9, 0), native=((9, 0), (9, 0)),
                     fallback="mxfp4-marlin", needs_evidence=False,
                     source="Triton kernel on Hopper; 64.38 and 13.47 GiB of gpt-oss in vLLM 0.11 logs"),
        Quantisation(name="mxfp4-marlin", bits=4, group=32, group_bits=8, parts=frozenset({"expert"}),
                     hidden_pad=256, width_pad=128, inputs=32, least=(8, 0), native=((8, 0), _ANY),
                     needs_evidence=False, source="Marlin kernel below 9.0; 65.97 GiB of gpt-oss-120b in vllm#23278"),
    )
}  # fmt: skip
"""By name. B300 and GB300 run ``w8a8-int8`` at 1/29 of a B200, which their INT8 peaks say."""


def quantisation(name: str) -> Quantisation:
    """Find a format; ConfigError names the known ones."""
    if name not in QUANTISATIONS:
        known = ", ".join(sorted(QUANTISATIONS))
        raise ConfigError(f"quantisation {name!r} — is no format known here; known are {known}; choose one of them")
    return QUANTISATIONS[name]
