"""Hold plain data against the input types of Pulumi's SDKs: names, requirements, types and enumerations, at any depth.

The SDKs take nested mappings as they are and leave mistakes in them to the cloud; their classes know better.
"""

from __future__ import annotations

import collections.abc
import enum
import importlib
import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pulumi
from pulumi import _types

from infra.components.cloud import _class
from infra.plan.resources import Answer, Ref, Resource, Text


def problems(item: Resource) -> list[str]:
    """What the SDK's types do not know, miss, or know otherwise."""
    made = _class(item.token)
    module = importlib.import_module(made.__module__)
    # Where a nested type has the same name, the resource's own has another.
    kind = getattr(module, f"{made.__name__}InitArgs", None) or getattr(module, f"{made.__name__}Args")
    return list(_of_class(item.props, kind, item.name))


def _of_class(value: Any, kind: type, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no mapping"
        return
    parameters = dict(list(inspect.signature(kind.__init__).parameters.items())[1:])
    names = {schema: python for python, schema in _types.input_type_py_to_pulumi_names(kind).items()}
    for key, inner in value.items():
        if key not in names:
            yield f"{path}.{key}: {kind.__name__} has no such field"
        else:
            module = importlib.import_module(kind.__module__)
            yield from _of_type(inner, _resolved(parameters[names[key]].annotation, module), f"{path}.{key}", module)
    for schema, python in names.items():
        if parameters[python].default is inspect.Parameter.empty and schema not in value:
            yield f"{path}.{schema}: missing"


def _resolved(annotation: Any, module: Any) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _resolved(_named(annotation, module), module)
    return annotation


def _named(name: str, module: Any) -> Any:
    """A class by its name: of the module, its inputs or its enumerations; a name of types is evaluated there."""
    package = module.__name__.rpartition(".")[0]
    known = dict(vars(module))
    for part in ("_inputs", "_enums"):
        try:
            known |= vars(importlib.import_module(f"{package}.{part}"))
        except ModuleNotFoundError:
            continue
    return eval(name, known)  # noqa: S307  annotations of an installed SDK


def _of_type(value: Any, kind: Any, path: str, module: Any) -> Iterator[str]:
    """Judge a value by its kind; what is not known yet fits all."""
    if isinstance(value, Ref | Text | Answer) or kind is Any:
        return
    origin = typing.get_origin(kind)
    if origin is typing.Union:
        yield from _of_union(value, kind, path, module)
    elif origin in (list, collections.abc.Sequence):
        yield from _of_list(value, _resolved(typing.get_args(kind)[0], module), path, module)
    elif origin in (dict, collections.abc.Mapping):
        yield from () if isinstance(value, Mapping) else [f"{path}: {value!r} is no mapping"]
    elif isinstance(kind, type):
        yield from _of_plain(value, kind, path)


def _of_union(value: Any, kind: Any, path: str, module: Any) -> Iterator[str]:
    """Judge by the kind that fits best."""
    kinds = [_resolved(part, module) for part in typing.get_args(kind) if _is_plain(part)]
    enums = [part for part in kinds if isinstance(part, type) and issubclass(part, enum.Enum)]
    if enums and isinstance(value, str):
        # Beside each enumeration the SDK takes any text, as clouds add to them.
        yield from _of_plain(value, enums[0], path)
        return
    told = [list(_of_type(value, part, path, module)) for part in kinds]
    if told and all(told):
        yield from min(told, key=len)


def _of_plain(value: Any, kind: type, path: str) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        if value not in [member.value for member in kind]:
            yield f"{path}: {value!r} is not of {kind.__name__}"
    elif _types.is_input_type(kind):
        yield from _of_class(value, kind, path)
    elif not _fits(value, kind):
        yield f"{path}: {value!r} is no {kind.__name__}"


def _is_plain(kind: Any) -> bool:
    """Whether a kind is one of values, and not of outputs, awaitables or nothing."""
    if isinstance(kind, typing.ForwardRef):
        return not kind.__forward_arg__.startswith("Output[")
    return kind is not type(None) and typing.get_origin(kind) not in (collections.abc.Awaitable, pulumi.Output)


def _of_list(value: Any, kind: Any, path: str, module: Any) -> Iterator[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        yield f"{path}: {value!r} is no list"
        return
    for index, inner in enumerate(value):
        yield from _of_type(inner, kind, f"{path}.{index}", module)


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
