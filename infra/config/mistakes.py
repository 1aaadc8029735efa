"""Turn pydantic's findings into one sentence each: which key, what was found, what is allowed, what to do."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_HIDDEN = ("secret",)
"""Keys whose value is never printed."""


def nearest(word: str, known: list[str]) -> str:
    """Name the known word that was probably meant, or list what is known."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(known))}"


def explain(error: ValidationError, model: Any, where: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each finding.

    Args:
        model: the type that was validated, to look up the keys it knows.
        where: path of the validated value within the spec.
    """
    for detail in error.errors(include_url=False, include_context=True):
        path = tuple(str(part) for part in detail["loc"] if part != "[key]")
        yield _sentence(detail, model, ".".join(where + path), path)


def _sentence(detail: ErrorDetails, model: Any, key: str, path: tuple[str, ...]) -> str:
    found = "a secret" if path and path[-1] in _HIDDEN else repr(detail["input"])
    if detail["type"] == "extra_forbidden":
        return f"{key}: no such key; {nearest(path[-1], _keys(_descend(model, path[:-1])))}"
    if detail["type"] == "missing":
        return f"{key}: missing; add it"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if detail["type"] == "value_error":
        return f"{key}: {message}" if isinstance(detail["input"], Mapping) else f"{key}: {found} is {message}"
    if detail["type"] == "literal_error":
        return f"{key}: {found} is not allowed; {nearest(str(detail['input']), _choices(detail))}"
    return f"{key}: {found} is not allowed; it {message}"


def _choices(detail: ErrorDetails) -> list[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [choice.strip(" '") for choice in expected.replace(" or ", ",").split(",") if choice.strip()]


def _descend(model: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        model = _bare(model)
        if isinstance(model, type) and issubclass(model, BaseModel):
            info = model.model_fields.get(part)
            model = info.annotation if info else None
        elif get_origin(model) in (dict, list, tuple):
            model = get_args(model)[-1]
    return _bare(model)


def _bare(model: Any) -> Any:
    while get_origin(model) in (Annotated, Union, types.UnionType):
        model = next(arg for arg in get_args(model) if arg is not type(None))
    return model


def _keys(model: Any) -> list[str]:
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []
