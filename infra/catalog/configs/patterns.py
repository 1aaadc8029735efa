"""Which layer keeps what: the spellings in which configs say it, read into one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from infra.catalog.architecture import Kind, Layer
from infra.catalog.configs.fields import Fields

_KINDS: dict[str, Kind] = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "state",
}
"""Words of ``layer_types``. Source: transformers 5.19.0 configuration_utils.py, ALLOWED_LAYER_TYPES."""

_Key = TypeVar("_Key", bound=Hashable)


def build(make: Callable[[_Key], Layer], keys: Iterable[_Key]) -> tuple[Layer, ...]:
    """Layers in order, each kind made once, so that equal layers are one object."""
    made: dict[_Key, Layer] = {}
    return tuple(made[key] if key in made else made.setdefault(key, make(key)) for key in keys)


def kinds(fields: Fields, *, every: int = 0, known: tuple[Kind, ...] = ("full", "sliding")) -> list[tuple[Kind, int]]:
    """What each layer keeps, with its window or chunk (tokens).

    Args:
        fields: the config.
        every: each how many layers one attends to all tokens, where the config does not say it; 0: the config's
            plain ``sliding_window`` holds for all.
        known: what layers of this family may be.
    """
    layers = fields.layers
    words = [word for word, kind in _KINDS.items() if kind in known]
    named = fields.each("layer_types", layers, words)
    if named is not None:
        found: list[Kind] = [_KINDS.get(str(word), "full") for word in named]
        return [(kind, _window(fields, kind)) for kind in found]
    every = fields.count("sliding_window_pattern", "full_attention_interval", default=every, least=0)
    if every:
        part: Kind = "state" if "state" in known else "sliding"
        spaced: list[Kind] = [part if (index + 1) % every else "full" for index in range(layers)]
        return [(kind, _window(fields, kind)) for kind in spaced]
    return _plain(fields, layers)


def _plain(fields: Fields, layers: int) -> list[tuple[Kind, int]]:
    """One window for all layers, or from some layer on; Qwen states a window that it turns off."""
    if not fields.flag("use_sliding_window", default=True) or not fields.get("sliding_window"):
        return [("full", 0)] * layers
    first = 0
    if fields.get("use_sliding_window") is True:
        first = fields.count("max_window_layers", default=0, least=0)
    window = fields.count("sliding_window")
    return [("full", 0) if index < first else ("sliding", window) for index in range(layers)]


def _window(fields: Fields, kind: Kind) -> int:
    if kind == "sliding":
        return fields.count("sliding_window")
    if kind == "chunked":
        return fields.count("attention_chunk_size")
    return 0
