"""Reader of the configs that checkpoints publish: ``config.json``, and Mistral's ``params.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from infra.catalog.architecture import Architecture
from infra.catalog.configs.exceptions import quantised
from infra.catalog.configs.families import FAMILIES, family_of
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.native import is_native, translated
from infra.errors import ConfigError

__all__ = ["FAMILIES", "read", "read_file"]


def read(config: Mapping[str, Any], *, name: str, source: str) -> Architecture:
    """Read a config that is parsed already.

    Args:
        config: fields of a ``config.json`` or ``params.json``.
        name: checkpoint, for messages and as the architecture's name.
        source: where the config is from.
    Raises:
        ConfigError: fields that are missing or cannot be; all at once.
        Unknown: an architecture, or a trait of one, that is not known here.
    """
    fields = Fields(translated(config) if is_native(config) else config, name=name)
    family, make = family_of(fields)
    architecture, stored_dtype = make(fields), fields.stored_dtype
    fields.end()
    return replace(quantised(fields, architecture), family=family, stored_dtype=stored_dtype, source=source)


def read_file(path: Path, *, name: str = "") -> Architecture:
    """Read a config file; ``Infinity``, which some configs hold, is let pass.

    Args:
        path: a ``config.json`` or ``params.json``.
        name: checkpoint; empty: the file's folder.
    Raises:
        ConfigError, Unknown: as ``read``, and when the file is no JSON object.
    """
    config = _object(path)
    beside = path.parent / "hf_quant_config.json"
    if "quantization_config" not in config and beside.is_file():
        config["quantization_config"] = _object(beside)
    return read(config, name=name or path.parent.name, source=str(path))


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"config file {str(path)!r} — cannot be read as JSON ({error}); name the checkpoint's config.json"
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"config file {str(path)!r} — holds no JSON object; name the checkpoint's config.json")
    return found
