"""Which change: what was last done to a Deployment, when and by whom, from all that remembers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown
from runbooks.lib import clients
from runbooks.lib.kubernetes.views import instant

if TYPE_CHECKING:
    from runbooks.engine.context import Context

SHOWN = 4
"""Fields named of one write (count)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change."""

    at: datetime
    what: str
    who: str

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} UTC {self.who}: {self.what}"


def recent(ctx: Context, namespace: str, name: str) -> list[Change]:
    """Changes to a Deployment and to its stack, newest first.

    Where Pulumi is out of reach, the cluster's own memory has to do; that is said.
    """
    kube = clients.of(ctx).kube
    live = kube.deployments.get(namespace, name)
    found = list(writes(live.raw))
    for replica_set in kube.deployments.replica_sets(namespace, name):
        meta = replica_set["metadata"]
        at, wanted = instant(meta["creationTimestamp"]), replica_set["spec"].get("replicas", 0)
        if at is not None:
            found.append(Change(at, f"new pod template, as {meta['name']} ({wanted} replicas now)", "rollout"))
    for event in kube.events.of("Deployment", namespace, name):
        found.append(Change(event.at, f"{event.reason}: {event.message}", event.source or "event"))
    found += updates(ctx)
    return sorted(found, key=lambda change: change.at, reverse=True)


def updates(ctx: Context) -> list[Change]:
    """Updates of the whole stack; none, with a word, where Pulumi cannot be asked."""
    try:
        found = clients.of(ctx).history.updates()
    except Unknown as error:
        ctx.say(f"updates of the stack are not known: {error}")
        return []
    return [Change(update.at, str(update), "pulumi") for update in found]


def writes(raw: Mapping[str, Any]) -> Iterator[Change]:
    """Who last wrote which fields of an object, as the API server remembers it."""
    for entry in raw["metadata"].get("managedFields", []):
        at = instant(entry.get("time"))
        if at is None or entry.get("subresource") == "status":
            continue
        fields = list(_leaves(entry.get("fieldsV1", {}), ""))
        more = f" and {len(fields) - SHOWN} more fields" if len(fields) > SHOWN else ""
        yield Change(at, f"wrote {', '.join(fields[:SHOWN])}{more}", entry["manager"])


def _leaves(fields: Mapping[str, Any], path: str) -> Iterator[str]:
    inner = {key: value for key, value in fields.items() if key != "."}
    if not inner and path:
        yield path.lstrip(".")
    for key, value in inner.items():
        kind, _, name = key.partition(":")
        yield from _leaves(value, f"{path}.{name}" if kind == "f" else f"{path}[{name}]")
