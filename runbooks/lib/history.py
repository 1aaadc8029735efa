"""What ``pulumi up`` did to a stack before, from Pulumi's own history: when, from which commit, with which config."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown
from runbooks.lib.kubernetes.views import instant
from runbooks.lib.stack import Stack

if TYPE_CHECKING:
    from infra.plan.facts import Plan

LOOKED_AT = 20
"""Updates that are looked at, newest first (count)."""

TIMEOUT_SECONDS = 60
"""How long ``pulumi`` may take to list them (s)."""


@dataclass(frozen=True, slots=True)
class Update:
    """One update of the stack."""

    at: datetime
    kind: str
    """``update``, ``destroy``, ``refresh``, …"""
    result: str
    """``succeeded``, ``failed`` or ``in-progress``."""
    message: str
    """First line of the commit, unless said otherwise."""
    commit: str
    changes: Mapping[str, int]
    """Resources by what was done to them."""
    config: Mapping[str, Any]
    """Our sections of the stack file as they were, secrets hidden."""

    def __str__(self) -> str:
        counts = ", ".join(f"{done} {count}" for done, count in self.changes.items() if done != "same")
        where = f" at {self.commit[:8]}" if self.commit else ""
        return f"{self.kind} {self.result}{where} ({self.message or 'no message'}): {counts or 'nothing'}"


@dataclass
class History:
    """The updates of one stack."""

    stack: Stack

    @cached_property
    def _listed(self) -> list[Update]:
        return [_update(entry) for entry in self._pulumi("history", "--page-size", str(LOOKED_AT), "--json")]

    @cached_property
    def _resources(self) -> list[Mapping[str, Any]]:
        exported = self._pulumi("export")
        found: list[Mapping[str, Any]] = (exported.get("deployment") or {}).get("resources") or []
        return found

    def _pulumi(self, *words: str) -> Any:
        program, who = shutil.which("pulumi"), f"history of stack {self.stack.name!r}"
        if program is None:
            raise Unknown(f'{who} — pulumi is not on PATH — put it there (lab: eval "$(lab env)")')
        argv = [program, "stack", *words, "--stack", self.stack.name, "--non-interactive"]
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, check=False, cwd=self.stack.root, timeout=TIMEOUT_SECONDS,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Unknown(f"{who} — pulumi gives no answer within {TIMEOUT_SECONDS} s — see its backend") from error
        if done.returncode:
            reason = " ".join(done.stderr.split())[:200]
            raise Unknown(f'{who} — pulumi fails: {reason} — log in to its backend (lab: eval "$(lab env)")')
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise Unknown(f"{who} — what pulumi says is no JSON: {done.stdout[:80]!r} — see its version") from error

    def applied(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """What the last update applied as an object, field by field; None where the stack has no such object."""
        for resource in self._resources:
            inputs = resource.get("inputs", {})
            meta = inputs.get("metadata", {})
            if (inputs.get("kind"), meta.get("namespace"), meta.get("name")) == (kind, namespace, name):
                found: Mapping[str, Any] = inputs
                return found
        return None

    def updates(self) -> list[Update]:
        """Newest first.

        Raises:
            Unknown: Pulumi or its backend is out of reach.
        """
        return list(self._listed)

    def plans(self) -> Iterator[tuple[Update, Plan]]:
        """The plan of each update that changed something, newest first, from the config it ran with.

        Images whose digests come from a lock get those of today.
        """
        from infra.config.load import parse
        from infra.plan.build import build

        for update in self.updates():
            if update.kind == "update" and update.result == "succeeded":
                spec = parse(self.stack.name, update.config, self.stack.root)
                if spec.stack is not None:
                    yield update, build(spec, spec.stack)


def _update(entry: Mapping[str, Any]) -> Update:
    environment = entry.get("environment", {})
    return Update(
        instant(entry.get("startTime")) or datetime.fromtimestamp(0, UTC), entry["kind"],
        entry.get("result", ""), entry.get("message", ""), environment.get("git.head", ""),
        entry.get("resourceChanges") or {}, dict(_sections(entry.get("config", {}))),
    )  # fmt: skip


def _sections(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, entry in config.items():
        project, _, section = key.partition(":")
        if project == "railwright":
            yield section, _hidden(entry.get("objectValue", entry.get("value")))


def _hidden(value: Any) -> Any:
    """Stand in for what Pulumi hides: a key's value is not needed for a plan, but has to have the form of one."""
    if isinstance(value, dict):
        return {name: _hidden(inner) for name, inner in value.items()}
    return "hidden-by-pulumi-----------------------" if value == "[secret]" else value
