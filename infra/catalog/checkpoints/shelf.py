"""The checkpoints' configs on disk, read when asked for."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from infra.catalog.architecture import Architecture
from infra.catalog.configs import read
from infra.errors import ConfigError

_FOLDER = Path(__file__).parent / "configs"
_VARIANTS = Path(__file__).parent / "variants.json"


class _Shelf(Mapping[str, Architecture]):
    """Architectures by checkpoint name; each is read once, when it is asked for."""

    def __getitem__(self, name: str) -> Architecture:
        return _read(name)

    def __iter__(self) -> Iterator[str]:
        return iter((*_files(), *_variants()))

    def __len__(self) -> int:
        return len(_files()) + len(_variants())

    def __contains__(self, name: object) -> bool:
        return name in _files() or name in _variants()


CHECKPOINTS: Mapping[str, Architecture] = _Shelf()
"""By checkpoint name, such as ``Qwen/Qwen3-8B``."""


def checkpoint(name: str) -> Architecture:
    """Find a checkpoint; ConfigError names the nearest ones."""
    if name in CHECKPOINTS:
        return CHECKPOINTS[name]
    tail = name.rsplit("/", 1)[-1].lower()
    near = [known for known in CHECKPOINTS if tail and _alike(tail, known.rsplit("/", 1)[-1].lower())]
    near = near or difflib.get_close_matches(name, list(CHECKPOINTS), 3)
    raise ConfigError(
        f"checkpoint {name!r} — is not in the catalogue{'; near are ' + ', '.join(near) if near else ''}; "
        "name one of the catalogue, or give its config.json as a file"
    )


def _alike(one: str, other: str) -> bool:
    return one in other or other in one


@cache
def _read(name: str) -> Architecture:
    entry = _variants().get(name) or _entry(name)
    if "same_as" not in entry:
        return read(entry["config"], name=name, source=entry["source"])
    base = _entry(entry["same_as"])
    config = {**base["config"], **entry.get("config", {})}
    return read(config, name=name, source=f"{entry['source']}; {base['source']}")


def _entry(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(_files()[name].read_text(encoding="utf-8"))
    return entry


@cache
def _files() -> dict[str, Path]:
    return {path.stem.replace("--", "/", 1): path for path in sorted(_FOLDER.glob("*.json"))}


@cache
def _variants() -> dict[str, dict[str, Any]]:
    variants: dict[str, dict[str, Any]] = json.loads(_VARIANTS.read_text(encoding="utf-8"))
    return variants
