"""Tensors that a quantised checkpoint leaves as they are, or holds in a format of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from infra.catalog.architecture import Architecture, Layer, Tensor
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.formats import cache_form, modelopt_form, plain_form, scale_group, stated_form

_LISTS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")
"""Spellings of the list of what is left as it is."""

_OTHER_NAMES = re.compile(r"\.experts\.\d+\b|\b(?:block_sparse_moe|ffn|feed_forward|w[123])\b")
_OUR_NAMES = {"block_sparse_moe": "mlp", "ffn": "mlp", "feed_forward": "mlp",
              "w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}  # fmt: skip
"""Names of modules in checkpoints that this catalogue spells in one way; experts are not told apart."""

_LAYER = re.compile(r"^(?:.*\.)?layers\.(\d+|\*)(?:\.(.*))?$")
_LAYER_OPEN = re.compile(r"^(?:.*\.)?layers\.(\d+)\*$")
_PREFIXES = ("layers.0.", "model.layers.0.", "model.language_model.layers.0.", "language_model.model.layers.0.")
"""Where a layer may stand in a checkpoint, for patterns that name no layer."""

Rule = tuple[str, str]
"""A pattern and the format of what it matches."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns over what follows ``layers.<n>.`` in the name of a module."""

    by_layer: Mapping[int, tuple[Rule, ...]]
    anywhere: tuple[Rule, ...]


def quantised(fields: Fields, architecture: Architecture) -> Architecture:
    """The architecture with the formats that its config states."""
    stated = fields.get("quantization_config", "compression_config")
    if stated is None:
        return architecture
    if not isinstance(stated, Mapping):
        fields.doubt(f"quantization_config is {stated!r}, and an object that names a method is needed")
    stated = {**stated, **stated["quantization"]} if isinstance(stated.get("quantization"), Mapping) else stated
    plain = plain_form(architecture.dtype)
    mixed = stated.get("quantized_layers")
    if isinstance(mixed, Mapping) and mixed:
        form, entries = _mixed(fields, stated, mixed)
    else:
        form = stated_form(fields, stated)
        entries = [(name, plain) for key in _LISTS for name in _names(fields, stated.get(key))]
        entries += [(name, plain) for name in _names(fields, _spared(fields, stated.get("dynamic")))]
    stating = replace(architecture, quantisation=form, group=scale_group(stated), kv_dtype=cache_form(stated))
    return _marked(stating, _rules(entries), plain)


def _spared(fields: Fields, dynamic: object) -> list[str]:
    """Patterns of GPTQ's ``dynamic`` that leave modules out; those that change bits have no rules here."""
    patterns = [str(pattern) for pattern in dynamic] if isinstance(dynamic, Mapping) else []
    if any(not pattern.startswith("-:") for pattern in patterns):
        fields.doubt(f"quantisation has other bits for {patterns}")
    return [f"re:{pattern[2:]}" for pattern in patterns]


def _names(fields: Fields, stated: object) -> list[str]:
    """Patterns that can be used; one that cannot stops the reading, since what it leaves out is not known."""
    if stated is None:
        return []
    if not isinstance(stated, list) or not all(isinstance(name, str) for name in stated):
        fields.doubt(f"quantisation leaves out {stated!r}, which is no list of names")
    for name in stated:
        try:
            re.compile(name.removeprefix("re:") if name.startswith("re:") else "")
        except re.error:
            fields.doubt(f"quantisation leaves out {name!r}, which is no regular expression")
    return stated


def _mixed(fields: Fields, stated: Mapping[str, Any], mixed: Mapping[str, Any]) -> tuple[str, list[Rule]]:
    """A format for each module; the architecture's own is that of the feed-forward part.

    What is not named stays as it is, unless the whole has a format of its own besides (``quant_method: fp8``).
    """
    forms = {
        name: modelopt_form(fields, entry.get("quant_algo") if isinstance(entry, Mapping) else entry)
        for name, entry in mixed.items()
    }
    entries = list(forms.items())
    if stated.get("quant_method") == "fp8":
        return stated_form(fields, stated), entries
    main = next((form for name, form in entries if "mlp" in name or "experts" in name), entries[-1][1])
    return main, [*entries, ("*", plain_form(fields.dtype))]


def _rules(entries: list[Rule]) -> Rules:
    by_layer: dict[int, dict[Rule, None]] = {}
    anywhere: dict[Rule, None] = {}
    for name, form in dict.fromkeys((_spelled(name), form) for name, form in entries):
        found = None if name.startswith("re:") else _LAYER.match(name)
        opened = _LAYER_OPEN.match(name)
        if opened:
            by_layer.setdefault(int(opened[1]), {})[("*", form)] = None
        elif found and found[1].isdigit():
            by_layer.setdefault(int(found[1]), {})[(found[2] or "*", form)] = None
        else:
            anywhere[((found[2] or "*") if found else name, form)] = None
    return Rules({index: tuple(rules) for index, rules in by_layer.items()}, tuple(anywhere))


def _spelled(name: str) -> str:
    return _OTHER_NAMES.sub(lambda found: _OUR_NAMES.get(found[0], ".experts"), name)


def _marked(architecture: Architecture, rules: Rules, plain: str) -> Architecture:
    """Names left in all layers go to ``unquantised``; what differs by layer is marked on the tensor."""
    made: dict[tuple[int, tuple[Rule, ...]], tuple[Layer, frozenset[str], frozenset[str]]] = {}
    layers, left, kept = [], set[str](), set[str]()
    for index, layer in enumerate(architecture.layers):
        key = (id(layer), rules.by_layer.get(index, ()))
        if key not in made:
            made[key] = _layer(layer, (*key[1], *rules.anywhere), plain)
        marked, its_left, its_kept = made[key]
        layers.append(marked)
        left |= its_left
        kept |= its_kept
    everywhere = left - kept
    said = {(name, plain) for name in everywhere} | {(name, architecture.quantisation) for name in left | kept}
    named: dict[int, Layer] = {}
    equal: dict[Layer, Layer] = {}
    for layer in layers:
        if id(layer) not in named:
            cleared = _cleared(layer, said)
            named[id(layer)] = equal.setdefault(cleared, cleared)
    dealt = tuple(named[id(layer)] for layer in layers)
    outside = tuple(t.name for t in architecture.outside if t.columns > 1 and _form(t.name, rules.anywhere) == plain)
    return replace(architecture, layers=dealt, unquantised=(*sorted(everywhere), *outside))


def _layer(layer: Layer, rules: tuple[Rule, ...], plain: str) -> tuple[Layer, frozenset[str], frozenset[str]]:
    """The layer with marked tensors, the names left as they are, and the names that are replaced."""
    forms = {t.name: _form(t.name, rules) or t.form for t in layer.tensors if t.columns > 1}
    tensors = tuple(_with(tensor, forms.get(tensor.name, "")) for tensor in layer.tensors)
    left = frozenset(name for name, form in forms.items() if form == plain)
    return replace(layer, tensors=tensors), left, frozenset(forms) - left


def _with(tensor: Tensor, form: str) -> Tensor:
    return replace(tensor, form=form) if form else tensor


def _cleared(layer: Layer, said: set[Rule]) -> Layer:
    """Take the marks off that the architecture as a whole says already."""
    return replace(
        layer,
        tensors=tuple(replace(t, form="") if (t.name, t.form) in said else t for t in layer.tensors),
    )


def _form(name: str, rules: tuple[Rule, ...]) -> str:
    return next((form for pattern, form in rules if _matches(pattern, name)), "")


@lru_cache(maxsize=65536)
def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith("re:"):
        return any(re.match(pattern[3:], prefix + name) for prefix in ("", *_PREFIXES))
    if any(sign in pattern for sign in "*?["):
        whole = fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")
        return whole or fnmatchcase(_PREFIXES[0] + name, pattern)
    return f".{pattern}." in f".{name}."
