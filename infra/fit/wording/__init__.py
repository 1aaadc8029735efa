"""Lines that engines write when they start, as data."""

from __future__ import annotations

from infra.fit.wording.lightllm import LIGHTLLM
from infra.fit.wording.sglang import SGLANG
from infra.fit.wording.tgi import TGI
from infra.fit.wording.trtllm import TRTLLM
from infra.fit.wording.vllm import VLLM
from infra.fit.wording.wording import Wording

__all__ = ["WORDINGS", "Wording"]

WORDINGS = {"vllm": VLLM, "sglang": SGLANG, "trtllm": TRTLLM, "tgi": TGI, "lightllm": LIGHTLLM}
"""By engine, as the catalog names them."""
