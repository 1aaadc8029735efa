"""The cluster as runbooks see it: one class per noun, all over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from runbooks.lib.kubernetes.api import MERGE, Absent, Api, Object
from runbooks.lib.kubernetes.deployments import Deployments
from runbooks.lib.kubernetes.events import Events
from runbooks.lib.kubernetes.hosts import Hosts
from runbooks.lib.kubernetes.pods import Pods
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context


@dataclass
class Kubernetes:
    """One cluster; every write of it is dry in a dry run."""

    ctx: Context
    api: Api

    @cached_property
    def pods(self) -> Pods:
        """Its pods."""
        return Pods(self.ctx, self.api)

    @cached_property
    def hosts(self) -> Hosts:
        """Its hosts."""
        return Hosts(self.ctx, self.api)

    @cached_property
    def deployments(self) -> Deployments:
        """Its Deployments."""
        return Deployments(self.ctx, self.api)

    @cached_property
    def events(self) -> Events:
        """Its events."""
        return Events(self.api)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Any object as plain data; None where there is none of this name."""
        try:
            return self.api.ask(self.api.path(api_version, kind, namespace, name))
        except Absent:
            return None

    def list(self, api_version: str, kind: str, namespace: str = "") -> list[Object]:
        """All objects of a kind as plain data."""
        found: list[Object] = self.api.ask(self.api.path(api_version, kind, namespace))["items"]
        return found

    def call(self, path: str, params: Mapping[str, str] | None = None) -> str:
        """Get a page of the API server itself, such as ``/readyz``."""
        return self.api.call("GET", path, params=params)

    def patch(self, api_version: str, kind: str, namespace: str, name: str, body: Any) -> None:
        """Merge a patch into any object; the caller reads back what matters.

        For objects that no class here has.
        """
        if may(self.ctx, f"patch {kind} {namespace}/{name}: {body}"):
            self.api.send("PATCH", self.api.path(api_version, kind, namespace, name), body, media=MERGE)
