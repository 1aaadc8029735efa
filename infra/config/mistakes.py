"""Turn pydantic's findings into one sentence each: which key, what was found, what is allowed, what to do."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from infra.config.base import (
    HOST_PATTERN,
    INTERFACE_PATTERN,
    LABEL_PATTERN,
    LABEL_VALUE_PATTERN,
    NAME_PATTERN,
    PCI_PATTERN,
    REGISTRY_PATTERN,
)
from infra.config.charts import CHART_VERSION_PATTERN, OCI_PATTERN, REPOSITORY_PATTERN, SHA256_PATTERN
from infra.config.gpu_operator import DRIVER_PATTERN, SHARE_PATTERN
from infra.config.models import CUDA_PATTERN
from infra.config.network import PKEY_PATTERN
from infra.config.observability import PAGES_PATTERN, SECRET_KEY_PATTERN, SECRET_PATTERN, URL_PATTERN

_FIXES = {
    "greater_than": "raise it",
    "greater_than_equal": "raise it",
    "less_than": "lower it",
    "less_than_equal": "lower it",
    "string_too_short": "write more",
    "too_short": "add one or leave it out",
}
"""What to do about a value, by pydantic's name of the finding; everything else is changed."""

_SHAPES = {"model_type": "a mapping of keys to values", "tuple_type": "a list", "dict_type": "a mapping"}
"""What YAML calls the shapes that pydantic asks for."""

_PATTERNS = {
    NAME_PATTERN: "lower-case letters, digits and dashes, at most 30, starting with a letter",
    LABEL_PATTERN: "a Kubernetes label key such as example.com/row",
    LABEL_VALUE_PATTERN: "letters, digits, dashes, dots and underscores, at most 63",
    HOST_PATTERN: "a host name: lower-case letters, digits, dashes and dots",
    INTERFACE_PATTERN: "the name of a network interface, at most 15 characters",
    PCI_PATTERN: 'a PCI address such as "0000:18:00.0", in quotes',
    PKEY_PATTERN: "a partition key in hexadecimal, such as 0x8002, in quotes",
    URL_PATTERN: "an http or https address; what opens it goes into a Secret",
    PAGES_PATTERN: "an http or https address without a slash at its end, or runbooks",
    SECRET_PATTERN: "the name of a Secret: lower-case letters, digits, dashes and dots",
    SECRET_KEY_PATTERN: "a key of a Secret: letters, digits, dashes, dots and underscores",
    REPOSITORY_PATTERN: "an http or https address; what opens it stays out of a stack",
    OCI_PATTERN: "a folder of an OCI registry such as oci://mirror.example.com/charts, without tag or digest",
    CUDA_PATTERN: 'a version of CUDA such as "13.0", in quotes',
    DRIVER_PATTERN: "a version of the driver such as 595.91.07, or a branch such as 595 with precompiled",
    SHARE_PATTERN: "a number of hosts such as 2, in quotes, or a share such as 25%",
    REGISTRY_PATTERN: "a folder of a registry such as mirror.example.com/nvidia, without tag",
    SHA256_PATTERN: "64 hex digits, as sha256sum prints them",
    CHART_VERSION_PATTERN: "one version such as v26.7.0, no range",
}
"""What our patterns mean, in words."""

_OPENS = re.compile(r"://[^/]*@")
"""What opens an address, within it. Source: RFC 3986, userinfo."""

_LONGEST = 80
"""Characters of a value that a sentence quotes; the key says where the rest is."""


def closest(word: str, known: list[str]) -> str | None:
    """Find the known word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), None)


def nearest(word: str, known: list[str]) -> str:
    """Name the known word that was probably meant, or list what is known."""
    close = closest(word, known)
    return f"did you mean {close!r}?" if close else f"known are: {', '.join(sorted(known)) or 'none'}"


def quoted(value: Any, path: tuple[str, ...]) -> str:
    """Quote a value for people; whatever may be a key's secret stays unsaid."""
    if path[-1:] == ("secret",) or (path[:1] == ("keys",) and len(path) < 3):
        return "a secret"
    if isinstance(value, str) and _OPENS.search(value):
        return "an address with a password in it"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def explain(error: ValidationError, model: Any, where: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each finding.

    Args:
        model: the type that was validated, to look up the keys it knows.
        where: path of the validated value within the spec.
    """
    for detail in error.errors(include_url=False, include_context=True):
        path = tuple(str(part) for part in detail["loc"] if part != "[key]")
        yield _sentence(detail, model, where + path, path)


def _sentence(detail: ErrorDetails, model: Any, where: tuple[str, ...], path: tuple[str, ...]) -> str:
    key, found = ".".join(where), quoted(detail["input"], where)
    if detail["type"] == "extra_forbidden":
        return f"{key}: no such key; {nearest(path[-1], _keys(_descend(model, path[:-1])))}"
    if detail["type"] == "missing":
        return f"{key}: missing; add it"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    if detail["type"] == "value_error":
        return f"{key}: {message}" if isinstance(detail["input"], Mapping) else f"{key}: {found} is {message}"
    if detail["type"] == "literal_error":
        return f"{key}: {found} is not allowed; {nearest(str(detail['input']), _choices(detail))}"
    if words := _PATTERNS.get(detail.get("ctx", {}).get("pattern", "")) or _SHAPES.get(detail["type"]):
        return f"{key}: {found} is not allowed; write {words}"
    return f"{key}: {found} is not allowed; it {message}, {_FIXES.get(detail['type'], 'change it')}"


def _choices(detail: ErrorDetails) -> list[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [choice.strip(" '") for choice in expected.replace(" or ", ",").split(",") if choice.strip()]


def _descend(model: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        model = _bare(model)
        if isinstance(model, type) and issubclass(model, BaseModel):
            info = model.model_fields.get(step)
            model = info.annotation if info else None
        elif get_origin(model) in (dict, list, tuple):
            model = [part for part in get_args(model) if part is not Ellipsis][-1]
    return _bare(model)


def _bare(model: Any) -> Any:
    while get_origin(model) in (Annotated, Union, types.UnionType):
        model = next(arg for arg in get_args(model) if arg is not type(None))
    return model


def _keys(model: Any) -> list[str]:
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []
