"""Locks kept as Leases in the cluster, so that two machines see the same ones; their rules are the engine's."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from runbooks.engine.lock import Lock
from runbooks.lib.kubernetes.api import Absent, Api, Conflict
from runbooks.lib.kubernetes.views import instant
from runbooks.lib.stack import Stack

NAMESPACE = "kube-system"
"""Namespace of the Leases: there in every cluster, and no stack deletes it."""

LABEL = "railwright.dev/lock"
"""Label of each Lease that is a lock of ours."""

SCOPE, OWNER, REASON = "railwright.dev/scope", "railwright.dev/owner", "railwright.dev/reason"
"""Annotations of a lock."""

_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"


def for_stack(stack: str) -> LeaseLocks:
    """Locks in the cluster of a stack."""
    found = Stack(stack)
    return LeaseLocks(Api(lambda: found.kubeconfig))


def lease_name(scope: str) -> str:
    """Name of a scope's Lease: readable, and never that of another scope."""
    slug = re.sub(r"[^a-z0-9]+", "-", scope.lower()).strip("-")[:40].strip("-")
    return f"railwright-{slug}-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"


def to_lease(lock: Lock) -> dict[str, Any]:
    """The Lease of a lock."""
    metadata: dict[str, Any] = {
        "name": lease_name(lock.scope),
        "namespace": NAMESPACE,
        "labels": {LABEL: "true"},
        "annotations": {SCOPE: lock.scope, OWNER: lock.owner, REASON: lock.reason},
    }
    if lock.version:
        metadata["resourceVersion"] = lock.version
    spec = {
        "holderIdentity": lock.run_id,
        "acquireTime": _micro(lock.taken),
        "renewTime": _micro(lock.renewed),
        "leaseDurationSeconds": max(1, round(lock.ttl.total_seconds())),
    }
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def to_lock(lease: dict[str, Any]) -> Lock:
    """The lock of a Lease."""
    meta, spec = lease["metadata"], lease.get("spec", {})
    notes = meta.get("annotations", {})
    never = datetime.fromtimestamp(0, UTC)
    return Lock(
        scope=notes.get(SCOPE, meta["name"]),
        run_id=spec.get("holderIdentity") or "",
        owner=notes.get(OWNER, ""),
        reason=notes.get(REASON, ""),
        taken=instant(spec.get("acquireTime")) or never,
        renewed=instant(spec.get("renewTime")) or never,
        ttl=timedelta(seconds=spec.get("leaseDurationSeconds") or 1),
        version=meta["resourceVersion"],
    )


def _micro(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class LeaseLocks:
    """The engine's store of locks, in one cluster."""

    api: Api

    def all(self) -> list[Lock]:
        """Every lock there is."""
        found = self.api.ask(_PATH, labelSelector=f"{LABEL}=true")
        return [to_lock(lease) for lease in found["items"]]

    def create(self, lock: Lock) -> bool:
        """Take a lock; False when its scope has one."""
        lease = to_lease(lock)
        lease["metadata"].pop("resourceVersion", None)
        try:
            self.api.send("POST", _PATH, lease)
        except Conflict:
            return False
        return True

    def replace(self, old: Lock, new: Lock) -> bool:
        """Put another in the place of a lock; False when it is no longer as it was read."""
        lease = to_lease(new)
        lease["metadata"]["resourceVersion"] = old.version
        try:
            self.api.send("PUT", f"{_PATH}/{lease_name(old.scope)}", lease)
        except (Conflict, Absent):
            return False
        return True

    def delete(self, old: Lock) -> bool:
        """Give a lock back; False when it is no longer as it was read."""
        options = {"preconditions": {"resourceVersion": old.version}}
        try:
            self.api.send("DELETE", f"{_PATH}/{lease_name(old.scope)}", options)
        except (Conflict, Absent):
            return False
        return True
