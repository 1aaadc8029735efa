"""The lab's stack file: what the lab itself reads of it, and the one line in it that is this clone's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from infra.errors import ConfigError
from lab import paths

STACK = "lab"
"""Name of the stack that the lab runs."""

_SALT = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


def path() -> Path:
    """The lab's stack file, which git tracks."""
    return paths.repo_root() / "stacks" / f"Pulumi.{STACK}.yaml"


def section(name: str) -> dict[str, Any]:
    """One section of the lab's stack, such as ``keys``; unchecked, for the stack's own check comes with its update.

    Raises:
        ConfigError: the stack file cannot be read.
    """
    file = path()
    try:
        content = yaml.safe_load(file.read_text())
        found = content["config"].get(f"railwright:{name}") or {}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"stack file {file} — cannot be read ({error}) — restore it: git checkout {file}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"stack file {file} — railwright:{name} is {found!r} — write one entry per name")
    return found


def with_salt(text: str, salt: str | None) -> str:
    """The text of a stack file with this salt, or with none; all other lines stay as they are."""
    rest = _SALT.sub("", text)
    if salt is None:
        return rest
    return f"{rest}{'' if rest.endswith(chr(10)) or not rest else chr(10)}encryptionsalt: {salt}\n"


def salt(text: str) -> str | None:
    """The salt in a stack file."""
    found = yaml.safe_load(text) or {}
    return found.get("encryptionsalt") if isinstance(found, dict) else None
