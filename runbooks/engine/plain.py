"""Plain data: what goes into journals and JSON, and reads back the same after a crash."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr

from runbooks.engine.model import Inputs, Target

MASK = "**********"
"""Stands for a secret wherever one would be printed."""

_SECRET_NAME = re.compile(r"secret|password|passphrase|token(?!s)|api_?key|credential", re.IGNORECASE)
"""Names of inputs whose values are not for other eyes; a count of tokens is no secret."""


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; times as text, spans as seconds, sets sorted.

    Raises:
        TypeError: it is an object that has no plain form.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, float) or math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Set):
        return sorted((plain(inner) for inner in value), key=str)
    return _plain_object(value)


def _plain_object(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PurePath | Target):
        return str(value)
    if isinstance(value, SecretStr | SecretBytes):
        return MASK
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} is not plain data; record names and numbers")


def masked(inputs: Inputs) -> dict[str, Any]:
    """Give the inputs as plain data, with a mask where a value is or looks like a secret."""
    told: dict[str, Any] = plain(inputs)
    # A path says where a secret lies, not what it is.
    return {
        name: MASK if value and _SECRET_NAME.search(name) and not isinstance(getattr(inputs, name), PurePath) else value
        for name, value in told.items()
    }
