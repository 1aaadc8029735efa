"""Events: what parts of the cluster reported of an object, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.api import Api
from runbooks.lib.kubernetes.views import Event


@dataclass(frozen=True)
class Events:
    """The events of one cluster; it forgets them after an hour."""

    api: Api

    def of(self, kind: str, namespace: str, name: str) -> list[Event]:
        """Events of one object; ``namespace`` is empty for hosts."""
        chosen = f"involvedObject.kind={kind},involvedObject.name={name}"
        return [event for event in self._list(chosen) if event.namespace == namespace]

    def recent(self, namespace: str = "", *, within: timedelta) -> list[Event]:
        """Events of all objects, or of those in one namespace."""
        since = datetime.now(UTC) - within
        return [e for e in self._list("") if e.at >= since and (not namespace or e.namespace == namespace)]

    def _list(self, chosen: str) -> list[Event]:
        found = self.api.ask("/api/v1/events", **({"fieldSelector": chosen} if chosen else {}))["items"]
        return sorted(map(views.event, found), key=lambda event: event.at, reverse=True)
