"""From plain data to a cloud's own resources; the SDK of a cloud is loaded only where a stack is on it."""

from __future__ import annotations

import base64
import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import yaml

from infra.errors import ConfigError
from infra.plan.resources import Answer, Lifecycle, Ref, Resource, Text

Made = dict[str, pulumi.Resource]
"""What is declared already, by Pulumi's name."""


def create(resources: Iterable[Resource], opts: pulumi.ResourceOptions, made: Made) -> None:
    """Declare resources in their order; what one refers to stands before it, or in ``made``, to which they are added.

    Raises:
        ConfigError: the SDK of the cloud is not installed.
    """
    for item in resources:
        own = pulumi.ResourceOptions.merge(opts, _options(item, made))
        made[item.name] = _class(item.token)(item.name, **_arguments(item.props, made), opts=own)


def value(wanted: Any, made: Made) -> Any:
    """Put outputs in place of references, at any depth."""
    if isinstance(wanted, Ref):
        return _output(wanted, made)
    if isinstance(wanted, Text):
        return pulumi.Output.concat(*(value(part, made) for part in wanted.parts))
    if isinstance(wanted, Answer):
        return _answer(wanted, made)
    if isinstance(wanted, Mapping):
        return {key: value(inner, made) for key, inner in wanted.items()}
    if isinstance(wanted, list | tuple):
        return [value(inner, made) for inner in wanted]
    return wanted


def _class(token: str) -> Any:
    """Find the class of a token such as ``aws:eks/nodeGroup:NodeGroup`` or ``pulumi:providers:aws``."""
    package, module, name = token.split(":")
    return _module(name, "").Provider if package == "pulumi" else getattr(_module(package, module), name)


def _module(package: str, module: str) -> Any:
    try:
        path = f"pulumi_{package.replace('-', '_')}.{module.partition('/')[0].lower()}"
        return importlib.import_module(path.rstrip("."))
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"target — its resources need the Python package pulumi-{package}, which is not installed — "
            f"run: pip install 'railwright[{package.partition('-')[0]}]'"
        ) from error


def _options(item: Resource, made: Made) -> pulumi.ResourceOptions:
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


def _arguments(props: Mapping[str, Any], made: Made) -> dict[str, Any]:
    """Spell the outermost keys as Python does; nested ones stay as the schema has them, which the SDK takes too."""
    return {_argument(key): value(inner, made) for key, inner in props.items()}


def _argument(key: str) -> str:
    """Name of an argument; one that would hide Pulumi's own has an underscore at its end."""
    word = _snake(key)
    return f"{word}_" if word == "resource_name" else word


def _output(ref: Ref, made: Made) -> pulumi.Output[Any]:
    first, _, within = ref.output.partition(".")
    output: pulumi.Output[Any] = getattr(made[ref.resource], _snake(first))
    if within:
        output = output.apply(lambda found: _within(found, within))
    if ref.until:
        output = output.apply(lambda found: found.partition(ref.until)[0])
    return output.apply(str) if ref.as_text else output


def _answer(asked: Answer, made: Made) -> pulumi.Output[Any]:
    """Ask with the cloud's own provider, once all that the question names is there."""
    package, module, name = asked.token.split(":")
    function = getattr(_module(package, module), f"{_snake(name)}_output")
    provider = next((item for item in made.values() if isinstance(item, pulumi.ProviderResource)), None)
    arguments = {_snake(key): value(inner, made) for key, inner in asked.args.items()}
    found: pulumi.Output[Any] = function(**arguments, opts=pulumi.InvokeOptions(provider=provider))
    return pulumi.Output.secret(found.apply(lambda answer: _read(answer, asked)))


def _read(answer: Any, asked: Answer) -> str:
    text = str(_within(answer, asked.output))
    if asked.is_base64:
        text = base64.b64decode(text).decode()
    return str(_within(yaml.safe_load(text), asked.within)) if asked.within else text


def _within(found: Any, path: str) -> Any:
    """Follow a path such as ``endpoints.0.privateEndpoint`` into an output."""
    for part in path.split("."):
        if part.isdigit():
            found = found[int(part)]
        elif isinstance(found, Mapping) and part in found:
            found = found[part]
        else:
            found = getattr(found, _snake(part))
    return found


def _snake(key: str) -> str:
    """Spell as Pulumi's SDK for Python does: ``vnetSubnetID`` is ``vnet_subnet_id``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", key).lower()
