"""The stack that a run works on: its spec and plan, read offline, and the addresses that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.config.stack import Spec
    from infra.config.stack import Stack as Config
    from infra.plan.facts import Plan

NAMESPACE = "monitoring"
"""Namespace of Prometheus and Alertmanager, unless the stack uses some that exist."""

_PORTS = {"prometheus": 9090, "alertmanager": 9093}


class Monitoring(NamedTuple):
    """Where one part of the monitoring answers."""

    url: str
    """Address that needs no API server; empty when only its proxy leads there."""
    service: str
    """``namespace/name:port`` of its Service, for that proxy."""


@dataclass(frozen=True)
class Stack:
    """One stack file and what it comes down to; nothing is read before it is asked for."""

    wanted: str
    """Name of the stack, or path of its file."""

    @cached_property
    def file(self) -> Path:
        """The stack file.

        Raises:
            ConfigError: there is none of this name.
        """
        from infra.config.load import clone_root

        if self.wanted.endswith((".yaml", ".yml")):
            return Path(self.wanted).resolve()
        path = clone_root() / "stacks" / f"Pulumi.{self.wanted}.yaml"
        if not path.is_file():
            raise ConfigError(
                f"stack {self.wanted!r} — there is no {path.name} in stacks — there are {', '.join(names())} — name one"
            )
        return path

    @property
    def name(self) -> str:
        """Name of the stack, as Pulumi knows it."""
        return self.file.stem.removeprefix("Pulumi.")

    @cached_property
    def spec(self) -> Spec:
        """The stack as it was read, mistakes included."""
        from infra.config.load import from_file

        return from_file(self.file)

    @property
    def config(self) -> Config:
        """What the user asked for.

        Raises:
            ConfigError: the file is so wrong that nothing can be told from it.
        """
        if self.spec.stack is None:
            raise ConfigError(*self.spec.problems)
        return self.spec.stack

    @cached_property
    def plan(self) -> Plan:
        """The plan; refusals stay in it, for an incident does not wait for a spec without fault."""
        from infra.plan.build import build

        return build(self.spec, self.config)

    @property
    def root(self) -> Path:
        """The clone."""
        return Path(self.spec.root)

    @property
    def protected(self) -> bool:
        """Whether to act here takes the stack's name typed."""
        return self.config.cluster.protected

    @cached_property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the cluster.

        Raises:
            ConfigError: it is not where the spec or KUBECONFIG says.
        """
        from infra.config.load import kubeconfig_path

        return kubeconfig_path(self.spec)

    @cached_property
    def ssh_config(self) -> Path:
        """Configuration of ssh; need not exist."""
        usual = ".lab/ssh_config" if self.config.cluster.target == "lab" else "~/.ssh/config"
        return self.root / Path(self.config.cluster.ssh_config or usual).expanduser()

    @cached_property
    def api_host(self) -> str:
        """Address of the API server, without port; in the lab every node port answers there."""
        import yaml

        content = yaml.safe_load(self.kubeconfig.read_text())
        contexts = {entry["name"]: entry["context"] for entry in content["contexts"]}
        clusters = {entry["name"]: entry["cluster"] for entry in content["clusters"]}
        server = clusters[contexts[content["current-context"]]["cluster"]]["server"]
        return str(urlsplit(server).hostname)

    def monitoring(self, part: Literal["prometheus", "alertmanager"]) -> Monitoring:
        """Where a part of the monitoring answers."""
        section = self.config.observability
        if section is None:
            return Monitoring("", f"{NAMESPACE}/{part}:{_PORTS[part]}")
        if section.existing is not None:
            urls = {"prometheus": section.existing.prometheus_url, "alertmanager": section.existing.alertmanager_url}
            # The Service that every prometheus-operator makes for its own.
            service = f"{section.existing.namespace}/{part}-operated:{_PORTS[part]}"
            return Monitoring((urls[part] or "").rstrip("/"), service)
        port = {"prometheus": section.prometheus, "alertmanager": section.alertmanager}[part].node_port
        url = f"http://{self.api_host}:{port}" if port and self.plan.target.name == "lab" else ""
        return Monitoring(url, f"{NAMESPACE}/{part}:{_PORTS[part]}")


def names() -> list[str]:
    """Names of the stacks of this clone."""
    from infra.config.load import clone_root

    return sorted(path.stem.removeprefix("Pulumi.") for path in (clone_root() / "stacks").glob("Pulumi.*.yaml"))


def is_protected(stack: str) -> bool:
    """Whether to act on a stack takes its name typed.

    Raises:
        ConfigError: there is no such stack.
    """
    return Stack(stack).protected
