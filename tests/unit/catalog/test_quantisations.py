"""Formats of weights."""

from __future__ import annotations

import pytest

from infra.catalog.gpus import GPUS
from infra.catalog.quantisations import QUANTISATIONS, Quantisation, quantisation
from infra.errors import ConfigError

rows = pytest.mark.parametrize("row", QUANTISATIONS.values(), ids=lambda row: row.name)


@rows
def test_every_format_says_where_it_comes_from(row: Quantisation) -> None:
    """A figure without a source cannot be checked."""
    assert len(row.source) >= 20


@rows
def test_a_format_is_native_to_some_gpu_that_loads_it(row: Quantisation) -> None:
    """One that no GPU here runs would be a row for nothing."""
    assert any(gpu.capability >= row.least and row.is_native(gpu.capability) for gpu in GPUS.values())


@rows
def test_what_stands_in_for_a_format_is_a_format(row: Quantisation) -> None:
    """And it ends: no format stands in for itself."""
    for gpu in GPUS.values():
        assert row.in_memory(gpu.capability).name in QUANTISATIONS


@pytest.mark.parametrize(
    ("name", "bits"),
    [("bf16", 16), ("fp8", 8), ("mxfp4", 4.25), ("nvfp4", 4.5), ("awq", 4.15625), ("fp8-block", 8 + 32 / 16_384)],
)
def test_scales_are_part_of_a_value(name: str, bits: float) -> None:
    """Bits of a value with its share of a group's scale."""
    assert quantisation(name).bits_per_value == bits


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """A typo must not become bf16."""
    with pytest.raises(ConfigError, match="nvfp4"):
        quantisation("nvfp8")
