"""Names into PromQL: ``$name`` is replaced so that a value stays a value, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from infra.errors import ConfigError

Value = str | int | float | timedelta | Sequence[str]
"""What may be put into an expression; several strings only behind ``=~`` or ``!~``."""

_PARTS = re.compile(
    r"""(?P<operator>=~|!~)?\s*(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|\$(?P<bare>[a-z_][a-z0-9_]*)"""
)
_NAME = re.compile(r"\$([a-z_][a-z0-9_]*)")
_BARE = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|(\d+(ms|[smhdwy]))+", re.IGNORECASE)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "'": r"\'", "\n": r"\n"})
_SPECIAL = re.compile(r"([.+*?()|\[\]{}^$\\])")


def fill(expression: str, names: Mapping[str, Value]) -> str:
    """Replace each ``$name``: in quotes as text, behind ``=~`` as literal text, elsewhere as a number or a duration.

    Raises:
        ConfigError: a name has no value, a value has no place, or a value cannot stand where its name does.
    """
    used: set[str] = set()

    def part(match: re.Match[str]) -> str:
        if name := match["bare"]:
            used.add(name)
            return _bare(expression, name, _value(expression, names, name))
        string = match["string"]
        inside = {name for name in _NAME.findall(string) if name in names}
        used.update(inside)
        if not inside:
            return match[0]
        if string.startswith("`"):
            _refuse(expression, "a name stands between backquotes, where nothing can be quoted", "use double quotes")
        put = partial(_quoted, expression, names, pattern=match["operator"] is not None)
        return match[0].removesuffix(string) + _NAME.sub(lambda found: put(found[1]), string)

    filled = _PARTS.sub(part, expression)
    if unused := sorted(set(names) - used):
        _refuse(expression, f"there is no ${unused[0]} in it", "correct the name")
    return filled


def _quoted(expression: str, names: Mapping[str, Value], name: str, *, pattern: bool) -> str:
    value = _value(expression, names, name)
    several = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
    if several is value and not pattern:
        _refuse(expression, f"${name} is a list, which only =~ and !~ take", "give one value")
    texts = [_SPECIAL.sub(r"\\\1", _plain(item)) if pattern else _plain(item) for item in several]
    return "|".join(texts).translate(_ESCAPES)


def _value(expression: str, names: Mapping[str, Value], name: str) -> Value:
    if name not in names:
        _refuse(expression, f"${name} has no value", f"give one, {name}=…")
    return names[name]


def _plain(value: Value) -> str:
    return f"{round(value.total_seconds() * 1000)}ms" if isinstance(value, timedelta) else str(value)


def _bare(expression: str, name: str, value: Value) -> str:
    text = _plain(value)
    if isinstance(value, bool) or not _BARE.fullmatch(text):
        _refuse(expression, f"${name}={text!r} is no number or duration", f'put it in quotes: "${name}"')
    return text


def _refuse(expression: str, found: str, fix: str) -> None:
    raise ConfigError(f"expression {expression!r} — {found} — {fix}")
