"""Inputs of a runbook as options of its command, and every mistake in them at once."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from infra.errors import ConfigError
from runbooks.engine.model import Inputs, Runbook
from runbooks.engine.plain import plain
from runbooks.engine.words import flag, nearest

_PREFIX = "input_"
"""Keeps the inputs apart from the options of every run, such as ``--stack``."""

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds in the units of a span of time."""

_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "given or --no-…",
    timedelta: "a span of time such as 30s, 5m or 1h30m",
    Path: "a path",
    SecretStr: "a file with the secret",
}
"""What is allowed for an input, in words, by its type."""


def span(text: str) -> timedelta:
    """Read a span of time such as ``30s``, ``5m`` or ``1h30m``.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", text):
        raise ValueError(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def add_inputs(parser: argparse.ArgumentParser, inputs: type[Inputs]) -> None:
    """Add an option for each input; values stay text, so that pydantic judges them all."""
    for name, declared in inputs.model_fields.items():
        kind, many = _kind(declared.annotation)
        told = declared.description or ""
        default = (
            "" if declared.is_required() else f"(default: {_told(declared.get_default(call_default_factory=True))})"
        )
        settings: dict[str, Any] = {
            "dest": _PREFIX + name,
            "default": argparse.SUPPRESS,
            "help": f"{told} {default}".strip().replace("%", "%%") or None,
        }
        if kind is bool:
            parser.add_argument(flag(name), action=argparse.BooleanOptionalAction, **settings)
        else:
            settings["action"] = "append" if many else "store"
            parser.add_argument(flag(name), metavar=_metavar(name, kind), **settings)


def read_inputs(runbook: type[Runbook], given: argparse.Namespace, unknown: Iterable[str]) -> Inputs:
    """Make the inputs of what was given.

    Args:
        unknown: words that no option took.
    Raises:
        ConfigError: every mistake, a sentence each.
    """
    fields = runbook.Inputs.model_fields
    values = {name: getattr(given, _PREFIX + name) for name in fields if hasattr(given, _PREFIX + name)}
    known = [option for option in _common(given) if option.startswith("--")] + [flag(name) for name in fields]
    problems, meant = [], set()
    for word in unknown:
        option = word.partition("=")[0]
        if option.startswith("-"):
            meant |= set(difflib.get_close_matches(option, known, n=1, cutoff=0.6))
            problems.append(f"{option} — is no option of {runbook.command()} — {nearest(option, known)}")
        elif not problems:
            problems.append(f"{word!r} — belongs to no option — inputs are given as --name value")
    inputs = None
    try:
        inputs = runbook.Inputs.model_validate(_converted(fields, values, problems))
    except ValidationError as error:
        problems += [said for said in map(_explainer(fields), error.errors()) if said.split(" ")[0] not in meant]
    if problems or inputs is None:
        raise ConfigError(*problems)
    return inputs


def takes_text(declared: FieldInfo) -> bool:
    """Whether an input may come from elsewhere as text: no switch, no path, no secret."""
    return _kind(declared.annotation)[0] not in (bool, Path, SecretStr)


def describe(inputs: type[Inputs]) -> list[tuple[str, str, str, str]]:
    """List inputs as rows: option, what is allowed, default, meaning."""
    rows = []
    for name, declared in inputs.model_fields.items():
        kind, many = _kind(declared.annotation)
        allowed = ", ".join(_choices(kind)) or _WORDS.get(kind, "text")
        default = "required" if declared.is_required() else _told(declared.get_default(call_default_factory=True))
        rows.append(
            (flag(name), f"{allowed}{' (may be repeated)' if many else ''}", default, declared.description or "")
        )
    return rows


def command_line(runbook: type[Runbook], stack: str, inputs: Inputs) -> str:
    """Write down the command that runs a runbook with these inputs, without ``--do``."""
    words = ["runbook", "run", runbook.command(), "--stack", stack]
    for name, declared in type(inputs).model_fields.items():
        value = getattr(inputs, name)
        if name == "do" or (not declared.is_required() and value == declared.get_default(call_default_factory=True)):
            continue
        words += _words(name, value)
    return shlex.join(words)


def _words(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield flag(name) if value else flag(f"no-{name}")
        return
    for one in value if isinstance(value, list | tuple | set | frozenset) else (value,):
        yield from (flag(name), _told(one))


def _told(value: Any) -> str:
    """Write a value as it would be given."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(_told, value)) or "none"
    return str(plain(value))


def _converted(fields: Mapping[str, FieldInfo], values: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Read what pydantic would read otherwise than people write it: spans of time, and files that hold secrets."""
    readers: dict[Any, Callable[[str], Any]] = {timedelta: span, SecretStr: lambda text: Path(text).read_text().strip()}
    read = dict(values)
    for name, value in values.items():
        kind, many = _kind(fields[name].annotation)
        reader = readers.get(kind)
        try:
            if reader:
                read[name] = [reader(one) for one in value] if many else reader(value)
        except ValueError:
            pass
        except OSError as error:
            problems.append(f"{flag(name)} — {value!r} cannot be read ({error.strerror}) — name a file with the secret")
    return read


def _explainer(fields: Mapping[str, FieldInfo]) -> Callable[[ErrorDetails], str]:
    """Make the function that turns one of pydantic's findings into a sentence."""

    def explain(found: ErrorDetails) -> str:
        name = str(found["loc"][0]) if found["loc"] else ""
        if found["type"] == "missing":
            fix = f"add {flag(name)} {_example(fields[name], name)}"
            return f"{flag(name)} — is missing — {_allowed(fields[name])} — {fix}"
        kind = fields[name].annotation if name in fields else None
        choices = _choices(_kind(kind)[0])
        if choices:
            hint = nearest(str(found["input"]), choices)
            return f"{flag(name)} — {found['input']!r} was found — allowed are {', '.join(choices)} — {hint}"
        unread = found["type"].endswith(("_parsing", "_type"))
        allowed = (_WORDS.get(_kind(kind)[0]) if unread else None) or found["msg"][:1].lower() + found["msg"][1:]
        where = flag(name) if name else "inputs"
        return f"{where} — {_quoted(found, kind)} was found — allowed: {allowed} — change it"

    return explain


def _quoted(found: ErrorDetails, kind: Any) -> str:
    return "a secret" if kind is SecretStr else repr(found["input"])


def _allowed(declared: FieldInfo) -> str:
    choices = _choices(_kind(declared.annotation)[0])
    return f"one of {', '.join(choices)}" if choices else (declared.description or "it has no default")


def _example(declared: FieldInfo, name: str) -> str:
    choices = _choices(_kind(declared.annotation)[0])
    return choices[0] if choices else _metavar(name, _kind(declared.annotation)[0])


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind)]
    return [str(plain(one)) for one in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _metavar(name: str, kind: Any) -> str:
    if choices := _choices(kind):
        return f"{{{','.join(choices)}}}"
    return {timedelta: "TIME", Path: "FILE", SecretStr: "FILE"}.get(kind, name.rpartition("_")[2].upper())


def _kind(annotation: Any) -> tuple[Any, bool]:
    """Find what one value is, and whether there may be several."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kind(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _kind(next(part for part in get_args(annotation) if part is not type(None)))
    if origin in (list, tuple, set, frozenset):
        return _kind(get_args(annotation)[0])[0], True
    return annotation, False


def _common(given: argparse.Namespace) -> list[str]:
    return [flag(name) for name in vars(given) if not name.startswith(_PREFIX)]
