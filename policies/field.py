"""What a rule sees: one value among a resource's inputs, its path, and whether it is known yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from infra.errors import Unknown


class _Unknown:
    """Type of ``UNKNOWN``."""

    def __repr__(self) -> str:
        return "UNKNOWN"


NUMBER = re.compile(r"\d+(\.\d+)?")
"""A number as annotations and quantities write it, without unit."""
UNKNOWN: Final = _Unknown()
"""Stands for a value that Pulumi can tell at the update only."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found at one path of a resource; a rule without findings passes."""

    verdict: Literal["fail", "unknown"]
    path: str
    message: str


class MalformedError(ValueError):
    """A value is not of the kind that Kubernetes takes there."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Field:
    """A value and its path; absent values are ``None``, values below an unknown one are unknown too."""

    value: Any
    path: str = ""

    def __getitem__(self, key: str | int) -> Field:
        """Step down by a key or an index, whether or not it is there."""
        if isinstance(key, int):
            path, inside = f"{self.path}[{key}]", isinstance(self.value, list) and key < len(self.value)
        else:
            step = key if key.replace("-", "").isalnum() else f'["{key}"]'
            path = f"{self.path}{'.' if self.path and step == key else ''}{step}"
            inside = isinstance(self.value, Mapping) and key in self.value
        if self.value is UNKNOWN:
            return Field(UNKNOWN, path)
        return Field(self.value[key] if inside else None, path)

    def at(self, *keys: str | int) -> Field:
        """Step down by several keys."""
        here = self
        for key in keys:
            here = here[key]
        return here

    def known(self) -> Any:
        """Return the value.

        Raises:
            Unknown: it can be told at the update only; the message is its path.
        """
        if self.value is UNKNOWN:
            raise Unknown(self.path)
        return self.value

    def number(self) -> float | None:
        """Return a number that is written plainly, None when it is absent.

        Raises:
            Unknown: it can be told at the update only.
            MalformedError: it is something else.
        """
        value = self.known()
        if value is not None and not NUMBER.fullmatch(str(value)):
            raise MalformedError(self.path, f"{value!r} is not a plain number; write it as in '45'")
        return None if value is None else float(value)

    def each(self) -> Iterator[Field]:
        """Yield the items of a list, none when it is absent."""
        items = self.known()
        yield from (self[index] for index in range(len(items) if isinstance(items, list) else 0))

    def entries(self) -> Iterator[tuple[str, Field]]:
        """Yield keys and values of a mapping, none when it is absent."""
        items = self.known()
        yield from ((key, self[key]) for key in (items if isinstance(items, Mapping) else ()))


def settle(judge: Callable[[Field], Iterator[Finding]], *fields: Field) -> Iterator[Finding]:
    """Judge each field by itself, so that one unknown value does not hide what is wrong beside it."""
    for field in fields:
        try:
            yield from judge(field)
        except Unknown as at:
            yield Finding("unknown", str(at), "not known until the update; checked again then")
        except MalformedError as wrong:
            yield Finding("fail", wrong.path, str(wrong))
