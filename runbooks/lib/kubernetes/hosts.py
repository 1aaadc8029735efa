"""Hosts as Kubernetes knows them: which there are, and cordons that belong to whoever made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, ConfigError
from infra.plan.labels import LEAF_LABEL, POOL_LABEL
from runbooks.lib.kubernetes import meta, views
from runbooks.lib.kubernetes.api import MERGE, Absent, Api, Conflict
from runbooks.lib.kubernetes.views import CORDONED_BY, Host
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FOUND_CORDONED = "found-cordoned"
"""Reason that stands for a cordon which was there before ours; we never clear it."""

RETRY = timedelta(seconds=10)
"""How long writers that collide on one host try again."""


def with_reason(host: Host, reason: str) -> dict[str, Any]:
    """Patch that cordons a host for one more reason.

    A cordon without a reason of ours is somebody else's. A host of ours that somebody uncordoned is cordoned anew for
    this reason alone: the others were overruled.
    """
    before = set(host.cordoned_by) if host.cordoned else set()
    if host.cordoned and not before:
        before = {FOUND_CORDONED}
    return _patch(host, {*before, reason}, cordoned=True)


def without_reason(host: Host, reason: str) -> dict[str, Any]:
    """Patch that takes one reason away, and the cordon with the last of ours; a cordon found before ours stays."""
    left = set(host.cordoned_by) - {reason}
    if reason not in host.cordoned_by:
        return {}
    if left <= {FOUND_CORDONED}:
        return _patch(host, set(), cordoned=bool(left) and host.cordoned)
    return _patch(host, left, cordoned=host.cordoned)


def _patch(host: Host, reasons: set[str], *, cordoned: bool) -> dict[str, Any]:
    # The version makes the server refuse what was decided on an older state.
    version = host.raw["metadata"]["resourceVersion"]
    note = ",".join(sorted(reasons)) or None
    return {
        "metadata": {"resourceVersion": version, "annotations": {CORDONED_BY: note}},
        "spec": {"unschedulable": True if cordoned else None},
    }


@dataclass(frozen=True)
class Hosts:
    """The hosts of one cluster."""

    ctx: Context
    api: Api

    def get(self, name: str) -> Host:
        """One host.

        Raises:
            ConfigError: there is none of this name.
        """
        try:
            return views.host(self.api.ask(self._path(name)))
        except Absent as error:
            raise ConfigError(f"host {name!r} — there is none — see: kubectl get nodes") from error

    def list(self, *, pool: str = "", leaf: str = "") -> list[Host]:
        """Hosts by pool and leaf, in the order of their names."""
        wanted = {key: value for key, value in ((POOL_LABEL, pool), (LEAF_LABEL, leaf)) if value}
        params = {"labelSelector": meta.selector(wanted)} if wanted else {}
        return sorted(map(views.host, self.api.ask("/api/v1/nodes", **params)["items"]), key=lambda host: host.name)

    def cordon(self, name: str, reason: str = "") -> None:
        """Keep new pods off a host, for a reason that only its owner takes away.

        Args:
            reason: letters, digits and ``._/-``; the run's own when left out.
        """
        reason = reason or self.own_reason
        if not may(self.ctx, f"cordon host {name} for {reason}"):
            return
        self._write(name, lambda host: with_reason(host, reason))
        found = self.get(name)
        if not found.cordoned or reason not in found.cordoned_by:
            raise CheckError(f"host {name} — was cordoned for {reason!r} and is not — see who uncordons it")

    def uncordon(self, name: str, reason: str = "") -> None:
        """Take one of our reasons away; the host takes pods again when it was the last, and nobody else's cordon."""
        reason = reason or self.own_reason
        if not may(self.ctx, f"uncordon host {name} for {reason}"):
            return
        self._write(name, lambda host: without_reason(host, reason))
        found = self.get(name)
        if reason in found.cordoned_by:
            raise CheckError(f"host {name} — the reason {reason!r} was taken away and is there again — see who sets it")
        if found.cordoned:
            holders = ", ".join(found.cordoned_by) or "somebody else"
            self.ctx.say(f"host {name} stays cordoned for {holders}")

    @property
    def own_reason(self) -> str:
        """The reason under which this run cordons."""
        return f"run/{self.ctx.run_id}"

    def annotate(self, name: str, values: Mapping[str, str | None]) -> None:
        """Set annotations; None removes one."""
        meta.patch(self.ctx, self.api, f"host {name}", self._path(name), "annotations", values)

    def label(self, name: str, values: Mapping[str, str | None]) -> None:
        """Set labels; None removes one."""
        meta.patch(self.ctx, self.api, f"host {name}", self._path(name), "labels", values)

    def _write(self, name: str, change: Callable[[Host], dict[str, Any]]) -> None:
        def try_once() -> bool | None:
            wanted = change(self.get(name))
            try:
                if wanted:
                    self.api.send("PATCH", self._path(name), wanted, media=MERGE)
            except Conflict:
                return None
            return True

        self.ctx.until(try_once, timeout=RETRY, every=0.2, what=f"host {name} is left alone long enough to be changed")

    @staticmethod
    def _path(name: str) -> str:
        return f"/api/v1/nodes/{name}"
