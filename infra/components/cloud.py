"""From plain data to a cloud's own resources; the SDK of a cloud is loaded only where a stack is on it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi

from infra.errors import ConfigError
from infra.plan.resources import Lifecycle, Ref, Resource


def create(resources: Iterable[Resource], opts: pulumi.ResourceOptions) -> dict[str, pulumi.CustomResource]:
    """Declare resources in their order; what one refers to stands before it.

    Raises:
        ConfigError: the SDK of the cloud is not installed.
    """
    made: dict[str, pulumi.CustomResource] = {}
    for item in resources:
        own = pulumi.ResourceOptions.merge(opts, _options(item, made))
        made[item.name] = _class(item.token)(item.name, **_arguments(item.props, made), opts=own)
    return made


def _class(token: str) -> Any:
    """Find the class of a token such as ``aws:eks/nodeGroup:NodeGroup``."""
    package, module, name = token.split(":")
    try:
        return getattr(importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module.split('/')[0]}"), name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"target — its resources need the Python package pulumi-{package}, which is not installed — "
            f"run: pip install 'railwright[{package}]'"
        ) from error


def _options(item: Resource, made: Mapping[str, pulumi.CustomResource]) -> pulumi.ResourceOptions:
    life: Lifecycle = item.lifecycle
    minutes = f"{life.timeout_minutes}m"
    return pulumi.ResourceOptions(
        protect=life.protect or None,
        retain_on_delete=life.retain or None,
        delete_before_replace=life.delete_before_replace or None,
        ignore_changes=list(life.ignore) or None,
        depends_on=[made[name] for name in item.after] or None,
        custom_timeouts=pulumi.CustomTimeouts(create=minutes, update=minutes) if life.timeout_minutes else None,
    )


def _arguments(props: Mapping[str, Any], made: Mapping[str, pulumi.CustomResource]) -> dict[str, Any]:
    """Spell the outermost keys as Python does; nested ones stay as the schema has them, which the SDK takes too."""
    return {_snake(key): _value(value, made) for key, value in props.items()}


def _value(value: Any, made: Mapping[str, pulumi.CustomResource]) -> Any:
    if isinstance(value, Ref):
        output: pulumi.Output[Any] = getattr(made[value.resource], _snake(value.output))
        return output.apply(str) if value.as_text else output
    if isinstance(value, Mapping):
        return {key: _value(inner, made) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_value(inner, made) for inner in value]
    return value


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()
