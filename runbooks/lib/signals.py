"""Faults of simulated hosts: what the lab's fleet plays when it finds these marks on a Node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.lib.kubernetes.hosts import Hosts

if TYPE_CHECKING:
    from runbooks.lib.kubernetes.views import Host

PREFIX = "signal.lab.railwright.dev/"
"""Beginning of each annotation that is a signal."""

NOT_READY = "node-not-ready.stage.kwok.x-k8s.io"
"""Label at which KWOK's own stage lets a host fall silent."""

SETS = ("gpu-lost", "nic-down")
"""Signals that list numbers of GPUs or NICs, such as ``0,3``."""

MAPS = (
    "xid", "gpu-temperature", "gpu-power", "gpu-util", "ecc", "row-remap-failed", "nvlink-errors",
    "nic-flaps", "nic-errors", "pfc-pauses",
)  # fmt: skip
"""Signals that give a number a value, such as ``3:79``."""


@dataclass(frozen=True)
class Signals:
    """The simulated faults of one cluster."""

    hosts: Hosts

    def get(self, host: str) -> Mapping[str, str]:
        """Signals of a host by name."""
        notes = self.hosts.get(host).annotations
        return {key.removeprefix(PREFIX): value for key, value in notes.items() if key.startswith(PREFIX)}

    def set(self, host: str, signal: str, value: str) -> None:
        """Let a simulated host show a fault.

        Args:
            value: ``0,3`` for a signal of ``SETS``, ``3:79,4:31`` for one of ``MAPS``.
        Raises:
            ConfigError: the host is real, or there is no such signal.
        """
        self._simulated(host)
        known = (*SETS, *MAPS)
        if signal not in known:
            raise ConfigError(f"signal {signal!r} — there is none — there are {', '.join(known)} — name one of them")
        parts = [part.partition(":") for part in value.split(",")]
        fits = all(number.isdigit() and bool(colon) == (signal in MAPS) for number, colon, _ in parts)
        if not fits:
            example = "3:79" if signal in MAPS else "0,3"
            raise ConfigError(f"signal {signal!r} — {value!r} is not of its form — write it like {example!r}")
        self.hosts.annotate(host, {PREFIX + signal: value})

    def clear(self, host: str, signal: str) -> None:
        """Take a fault back; one that is not there is left so."""
        self.hosts.annotate(host, {PREFIX + signal: None})

    def not_ready(self, host: str) -> None:
        """Let a simulated host fall silent, as one that lost its power."""
        self._simulated(host)
        self.hosts.label(host, {NOT_READY: "true"})

    def ready(self, host: str) -> None:
        """Let it come back."""
        self.hosts.label(host, {NOT_READY: None})

    def _simulated(self, name: str) -> Host:
        found = self.hosts.get(name)
        if not found.simulated:
            raise ConfigError(f"host {name!r} — is real, and signals are for simulated hosts — choose one of those")
        return found
