"""Resources of a cloud as plain data: what a target wants, before any SDK or provider is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A value that is known only once another resource exists."""

    resource: str
    """Name of the resource that brings it."""
    output: str = "id"
    """Its output, as Pulumi's schema spells it; what lies within after dots, as in ``endpoints.0.privateEndpoint``."""
    as_text: bool = False
    """Whether a number is to be given on as text."""
    until: str = ""
    """A sign that the value ends before, such as the colon of a port."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text with values in it that are known only later."""

    parts: tuple[Any, ...]
    """Plain text and references, in order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function of a cloud's API says of resources that exist by then; secret."""

    token: str
    """Pulumi's name of the function, such as ``oci:ContainerEngine/getClusterKubeConfig:getClusterKubeConfig``."""
    args: Mapping[str, Any]
    """Its arguments in the spelling of Pulumi's schema; values are plain data or Ref."""
    output: str
    """Where in the answer, as in a Ref."""
    is_base64: bool = False
    """Whether that is text in base64."""
    within: str = ""
    """Where in that text, which is YAML; empty: all of it."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What must not happen to a resource, or in which order."""

    protect: bool = False
    """Refuse to delete it: what cannot be had again, such as a reservation."""
    retain: bool = False
    """Leave it in the cloud when the stack goes."""
    delete_before_replace: bool = False
    """A pool with reserved capacity has no room for its successor beside it."""
    ignore: tuple[str, ...] = ()
    """Properties that somebody else changes, such as a size that an autoscaler owns."""
    timeout_minutes: int = 0
    """How long making it may take (min); 0: the provider's own limit."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a cloud."""

    token: str
    """Pulumi's type, such as ``aws:eks/nodeGroup:NodeGroup``."""
    name: str
    """Pulumi's name of the resource; unique in the stack, starts with the pool's or cluster's name."""
    props: Mapping[str, Any]
    """Inputs in the spelling of Pulumi's schema (camelCase); values are plain data or Ref."""
    after: tuple[str, ...] = ()
    """Names of resources that must exist first although no value of theirs is used."""
    lifecycle: Lifecycle = field(default=Lifecycle())

    @property
    def refs(self) -> Iterator[Ref]:
        """Every value that another resource brings."""
        yield from _refs(self.props)


@dataclass(frozen=True, slots=True)
class Access:
    """How Kubernetes is reached in a cluster that the stack makes."""

    identity: Ref
    """What no other cluster has, even one of the same name: objects are made anew when it changes, and only then."""
    kubeconfig: Mapping[str, Any] | Answer
    """Content of a kubeconfig; values are plain data, Ref, Text or Answer."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the pools of a cloud stand on."""

    provider: Resource
    """The cloud's provider, bound to region and account of the spec and not to whatever a shell has set."""
    resources: tuple[Resource, ...] = ()
    """Network, roles and cluster that the stack makes, each after those that it refers to; none where all is there."""
    access: Access | None = None
    """None: a kubeconfig is there."""


def _refs(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Text):
        yield from _refs(value.parts)
    elif isinstance(value, Answer):
        yield from _refs(value.args)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _refs(item)
