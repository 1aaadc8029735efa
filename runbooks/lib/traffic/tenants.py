"""Whose keys the traffic uses: from the stack's spec, or from files; never from the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from infra.config.keys import Key
from infra.config.mistakes import nearest
from infra.errors import ConfigError
from runbooks.lib.stack import Stack
from runbooks.lib.traffic.profile import Tenant


def tenants_of(
    stack: str, shares: Mapping[str, float] | Iterable[str] = (), files: Mapping[str, Path] | None = None
) -> tuple[Tenant, ...]:
    """The stack's keys as tenants.

    Args:
        stack: name of the stack, or path of its file.
        shares: names of keys, or each with its weight; empty: all keys alike.
        files: where the values of some keys are, by name, instead of where the spec says.
    Raises:
        ConfigError: no such stack or key, or a key's value cannot be read here; all of them at once.
    """
    spec, keys = Stack(stack).spec, Stack(stack).config.keys
    weights = dict(shares) if isinstance(shares, Mapping) else dict.fromkeys(shares, 1.0)
    found, problems = [], []
    for name, weight in (weights or dict.fromkeys(keys, 1.0)).items():
        if name not in keys:
            problems.append(f"key {name!r} — is not in stack {stack!r} — {nearest(name, list(keys))}")
            continue
        key = keys[name]
        try:
            value = key_from(files[name]) if files and name in files else _value(name, key, Path(spec.root))
        except ConfigError as error:
            problems += error.problems
        else:
            found.append(Tenant(name=key.tenant, tier=key.tier, key=value, share=weight, models=key.models or ()))
    if problems:
        raise ConfigError(*problems)
    if not found:
        raise ConfigError(f"stack {stack!r} — has no key; add one to railwright:keys")
    return tuple(found)


def _value(name: str, key: Key, root: Path) -> SecretStr:
    if key.secret is not None:
        raise ConfigError(f"key {name!r} — sealed by Pulumi — name a file with its value: --key-file {name}=PATH")
    try:
        return key.read(root)
    except ConfigError as error:
        raise ConfigError(*(f"key {name!r}: {problem}" for problem in error.problems)) from error


def key_from(path: Path) -> SecretStr:
    """Read a key from a file.

    Raises:
        ConfigError: it cannot be read, or is empty.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"key file {str(path)!r} — cannot be read ({error}); name one that can") from error
    if not text or not text.isascii() or not text.isprintable():
        raise ConfigError(f"key file {str(path)!r} — holds no key; write the key's value into it")
    return SecretStr(text)


def with_keys(tenants: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Put the key itself in the place of each tenant's ``key_file``."""
    opened = []
    for tenant in tenants:
        values = dict(tenant)
        if "key_file" in values:
            values["key"] = key_from(Path(values.pop("key_file")))
        opened.append(values)
    return opened
