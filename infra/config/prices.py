"""Prices: what the user pays, since when, and where that is written."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen


class BoardPrice(Frozen):
    """Price of the hosts with one board; a pool's own ``usd_per_gpu_hour`` overrules it."""

    usd_per_gpu_hour: Annotated[float, Field(gt=0)]
    """One GPU, or one host without GPUs (US dollars per hour)."""
    as_of: date
    """Day on which it was true."""
    source: Annotated[str, Field(min_length=3)]
    """Where it is written: a contract, a price list, an invoice."""
