"""Who starts and stops services on a host: systemd, or the lab's own supervision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from infra.errors import ConfigError
from runbooks.lib.writing import Result

_AFTER = {
    "start": ("running",),
    "restart": ("running",),
    "stop": ("stopped",),
    "kill": ("running", "starting", "failing"),
    "pause": ("paused",),
    "continue": ("running",),
}
"""State in which each action must leave a service."""


class Manager(Protocol):
    """The service manager of a target's hosts."""

    @property
    def patience(self) -> timedelta:
        """How long a service may take to get where it was sent."""

    def steps(self, name: str, action: str) -> Sequence[Sequence[str]]:
        """Commands that carry an action out."""

    def after(self, action: str) -> Sequence[str]:
        """States in which the action may leave the service."""

    def status(self, name: str) -> Sequence[str]:
        """Command that tells the state."""

    def read(self, result: Result) -> str:
        """State in the answer; ``absent`` without such a service, empty when it cannot be told."""


@dataclass(frozen=True)
class Systemd:
    """Services of an ordinary host."""

    patience: timedelta = timedelta(seconds=90)

    def steps(self, name: str, action: str) -> Sequence[Sequence[str]]:
        """Commands that carry an action out; a service that is paused is so by signal."""
        signals = {"kill": "SIGKILL", "pause": "SIGSTOP", "continue": "SIGCONT"}
        if action in signals:
            return [["systemctl", "kill", "--kill-whom=main", f"--signal={signals[action]}", name]]
        _known(action)
        return [["systemctl", action, name]]

    def after(self, action: str) -> Sequence[str]:
        """States in which the action may leave the service; systemd does not tell a paused one apart."""
        return ("running",) if action == "pause" else _AFTER[action]

    def status(self, name: str) -> Sequence[str]:
        """Command that tells the state."""
        return ["systemctl", "show", "--property=LoadState,ActiveState", name]

    def read(self, result: Result) -> str:
        """State in the answer."""
        found = dict(line.partition("=")[::2] for line in result.stdout.splitlines())
        if found.get("LoadState") == "not-found":
            return "absent"
        states = {
            "active": "running", "reloading": "running", "activating": "starting", "deactivating": "starting",
            "inactive": "stopped", "failed": "failing",
        }  # fmt: skip
        return states.get(found.get("ActiveState", ""), "")


@dataclass(frozen=True)
class PartManager:
    """Parts of a lab."""

    program: str
    """Path of ``part`` on the host."""
    patience: timedelta = timedelta(seconds=90)

    def steps(self, name: str, action: str) -> Sequence[Sequence[str]]:
        """Commands that carry an action out."""
        _known(action)
        verbs = ("stop", "start") if action == "restart" else (action,)
        return [[self.program, verb, name] for verb in verbs]

    def after(self, action: str) -> Sequence[str]:
        """States in which the action may leave the part."""
        return _AFTER[action]

    def status(self, name: str) -> Sequence[str]:
        """Command that tells the state."""
        return [self.program, "status", name]

    def read(self, result: Result) -> str:
        """State in the answer: one word of it."""
        if result.rc == 2:
            return "absent"
        word = result.stdout.strip()
        return word if word in ("running", "starting", "stopped", "paused", "failing") else ""


def _known(action: str) -> None:
    if action not in _AFTER:
        raise ConfigError(f"action {action!r} — services know {', '.join(_AFTER)} — name one of them")
