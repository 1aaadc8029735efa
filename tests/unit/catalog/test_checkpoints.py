"""The catalogue of checkpoints against sizes that others counted."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import pytest

from infra.catalog.architecture import Architecture, Cache
from infra.catalog.checkpoints import CHECKPOINTS, checkpoint
from infra.catalog.quantisations import QUANTISATIONS
from infra.errors import ConfigError

with Path(__file__).with_name("published_sizes.csv").open(encoding="utf-8") as _file:
    ROWS = {row["checkpoint"]: row for row in csv.DictReader(_file)}

NOT_COUNTED = {
    "deepseek-ai/DeepSeek-V4-Flash": "no total was published beside the config, and no bytes per token exist",
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B": "no total was counted from the config",
}
"""Rows without a size to compare with, and why."""

TOLERANCE = 0.002
"""Share by which a count may differ from the published one."""

ROUNDING = 0.005
"""Half of the last digit of the published counts (billions)."""

GROWING = ("full", "latent", "index")


def _caches(architecture: Architecture) -> Iterable[Cache]:
    return (cache for layer in architecture.layers for cache in layer.caches)


def _token_bytes(cache: Cache) -> int:
    """Bytes of one token: two a value, an indexer's key in one with a scale of four."""
    if cache.kind == "index":
        return cache.key_dim + 4 * cache.key_dim // 128
    return 2 * cache.kv_heads * (cache.key_dim + cache.value_dim)


def _fixed_bytes(cache: Cache) -> int:
    """Bytes beside the growing ones, as the table counts them: of a state, or of a token in a window."""
    if cache.kind == "state":
        return sum(state.values * (4 if state.is_temporal else 2) for state in cache.states)
    return _token_bytes(cache) * (cache.window if cache.kind == "cross" else 1)


def _agrees(counted: int, published: str) -> bool:
    want = float(published)
    return abs(counted / 1e9 - want) <= max(want * TOLERANCE, ROUNDING)


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(NOT_COUNTED)))
def test_parameters_are_those_published(name: str) -> None:
    """All parameters of the text tower, and those that a token passes, within 0.2 %."""
    architecture, row = checkpoint(name), ROWS[name]
    text = sum(tensor.parameters for tensor in architecture.tensors() if tensor.part != "vision")
    assert _agrees(text, row["parameters_b"]), f"{text / 1e9:.3f} B"
    assert _agrees(architecture.active_parameters, row["active_b"]), f"{architecture.active_parameters / 1e9:.3f} B"


@pytest.mark.parametrize("name", sorted(name for name in ROWS if ROWS[name]["cache_bytes_per_token"]))
def test_cache_bytes_are_those_published(name: str) -> None:
    """What grows with each token, and what does not, to the byte."""
    row = ROWS[name]
    caches = list(_caches(checkpoint(name)))
    assert sum(_token_bytes(cache) for cache in caches if cache.kind in GROWING) == int(row["cache_bytes_per_token"])
    assert sum(_fixed_bytes(cache) for cache in caches if cache.kind not in GROWING) == int(row["fixed_bytes"])


@pytest.mark.parametrize("name", sorted(ROWS))
def test_depth_and_context_are_those_published(name: str) -> None:
    """Layers and the longest context."""
    architecture, row = checkpoint(name), ROWS[name]
    assert (len(architecture.layers), architecture.max_context) == (int(row["layers"]), int(row["max_context"]))


@pytest.mark.parametrize("name", sorted(NOT_COUNTED))
def test_rows_without_a_published_size_are_listed(name: str) -> None:
    """A row is left out of the comparison for no other reason than that there is nothing to compare with."""
    assert not ROWS[name]["parameters_b"]


def test_every_checkpoint_can_be_read() -> None:
    """No file of the catalogue is refused, and each says where it is from."""
    assert all(CHECKPOINTS[name].source for name in CHECKPOINTS)


def test_every_format_of_a_checkpoint_is_known() -> None:
    """Formats are spelled as the table of quantisations spells them."""
    stated = {CHECKPOINTS[name].quantisation for name in CHECKPOINTS} - {""}
    held = {tensor.form for name in CHECKPOINTS for tensor in CHECKPOINTS[name].tensors()} - {""}
    assert stated | held <= set(QUANTISATIONS)


def test_equal_layers_are_one_object() -> None:
    """Costs grow with kinds of layers, so no checkpoint has more kinds than 6."""
    kinds = {name: len({id(layer) for layer in CHECKPOINTS[name].layers}) for name in CHECKPOINTS}
    assert {name: count for name, count in kinds.items() if count > 6} == {}


def test_a_variant_is_its_base_under_its_own_name() -> None:
    """An instruct model has the layers of what it was trained from, and its source names both."""
    variant, base = checkpoint("meta-llama/Llama-3.3-70B-Instruct"), checkpoint("meta-llama/Meta-Llama-3.1-70B")
    assert (variant.name, variant.layers) == ("meta-llama/Llama-3.3-70B-Instruct", base.layers)
    assert base.name in variant.source


def test_a_variant_may_drop_the_format_of_its_base() -> None:
    """The plain Gemma 4 has the layers of the NVFP4 one, in bfloat16."""
    plain, quantised = checkpoint("google/gemma-4-31B-it"), checkpoint("nvidia/Gemma-4-31B-IT-NVFP4")
    assert (plain.quantisation, plain.kv_dtype, plain.unquantised) == ("", "", ())
    assert (quantised.quantisation, quantised.parameters) == ("nvfp4", plain.parameters)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """The message names what may have been meant."""
    with pytest.raises(ConfigError, match=r"'Qwen3-8B' — is not in the catalogue; near are .*Qwen/Qwen3-8B"):
        checkpoint("Qwen3-8B")


def test_a_slip_in_a_name_is_told_with_what_was_meant() -> None:
    """Only names that hold each other were near, so that one letter less had no answer."""
    with pytest.raises(ConfigError, match=r"near are meta-llama/Llama-3\.1-8B-Instruct"):
        checkpoint("meta-llama/Llama-3.1-8B-Instrct")
