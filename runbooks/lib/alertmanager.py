"""Alertmanager: what it tells people, and silences that say whose they are and when they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, ConfigError
from runbooks.lib.endpoint import Endpoint, decoded
from runbooks.lib.kubernetes.views import instant
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

LONGEST = timedelta(hours=24)
"""Longest silence a runbook may ask for; what takes longer is for people to decide."""


@dataclass(frozen=True, slots=True)
class Notified:
    """One alert as Alertmanager holds it."""

    name: str
    state: str
    """``active``, ``suppressed`` or ``unprocessed``."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    since: datetime | None
    silenced_by: tuple[str, ...]
    receivers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Silence:
    """One silence."""

    id: str
    creator: str
    comment: str
    matchers: Mapping[str, str]
    starts: datetime | None
    ends: datetime | None
    state: str
    """``active``, ``pending`` or ``expired``."""


@dataclass(frozen=True)
class Alertmanager:
    """One Alertmanager."""

    ctx: Context
    endpoint: Endpoint

    @property
    def creator(self) -> str:
        """Name under which this run silences."""
        return f"railwright/{self.ctx.run_id}"

    def alerts(self) -> list[Notified]:
        """All alerts it holds, the silenced too."""
        return [
            Notified(
                entry["labels"].get("alertname", ""), entry["status"]["state"], entry["labels"], entry["annotations"],
                instant(entry.get("startsAt")), tuple(entry["status"].get("silencedBy", [])),
                tuple(receiver["name"] for receiver in entry.get("receivers", [])),
            )
            for entry in self.endpoint.json("/api/v2/alerts")
        ]  # fmt: skip

    def silences(self) -> list[Silence]:
        """All silences, those that have ended too."""
        return [_silence(entry) for entry in self.endpoint.json("/api/v2/silences")]

    def silence(self, matchers: Mapping[str, str], *, lasts: timedelta, comment: str) -> str:
        """Silence the alerts that have all of these labels, for a while.

        Returns:
            Id of the silence, for ``expire``; empty in a dry run.
        Raises:
            ConfigError: it would hit every alert, or last too long.
        """
        if not matchers or not timedelta() < lasts <= LONGEST:
            raise ConfigError(f"silence of {dict(matchers)} for {lasts} — name a label, and at most {LONGEST}")
        shown = ", ".join(f"{name}={value}" for name, value in matchers.items())
        if not may(self.ctx, f"silence alerts with {shown} for {lasts}"):
            return ""
        now = datetime.now(UTC)
        body = {
            "matchers": [{"name": n, "value": v, "isRegex": False, "isEqual": True} for n, v in matchers.items()],
            "startsAt": now.isoformat(),
            "endsAt": (now + lasts).isoformat(),
            "createdBy": self.creator,
            "comment": comment,
        }
        found = self._write("POST", "/api/v2/silences", body)
        made = self._get(str(found["silenceID"]))
        if made.state == "expired" or dict(made.matchers) != dict(matchers):
            raise CheckError(f"silence {made.id} — was made for {shown} and is {made.state} for {dict(made.matchers)}")
        return made.id

    def expire(self, silence_id: str) -> None:
        """End a silence of this run now; one that has ended already is left as it is.

        Raises:
            ConfigError: it is somebody else's.
        """
        found = self._get(silence_id)
        if found.creator != self.creator:
            raise ConfigError(f"silence {silence_id} — is {found.creator!r}'s, not of this run — leave it to them")
        if found.state == "expired" or not may(self.ctx, f"end silence {silence_id}"):
            return
        self._write("DELETE", f"/api/v2/silence/{silence_id}", None)
        if (state := self._get(silence_id).state) != "expired":
            raise CheckError(f"silence {silence_id} — was ended and is {state} — end it by hand")

    def own(self) -> list[Silence]:
        """Silences of this run that have not ended."""
        return [found for found in self.silences() if found.creator == self.creator and found.state != "expired"]

    def _get(self, silence_id: str) -> Silence:
        return _silence(self.endpoint.json(f"/api/v2/silence/{silence_id}"))

    def _write(self, method: str, path: str, body: Any) -> Any:
        status, text = self.endpoint.fetch(method, path, body=body)
        if status != 200:
            raise ConfigError(f"Alertmanager — refuses {method} {path} with {status}: {text[:160]!r}")
        return decoded("Alertmanager", path, text) if text else {}


def _silence(entry: Mapping[str, Any]) -> Silence:
    return Silence(
        entry["id"], entry["createdBy"], entry["comment"],
        {matcher["name"]: matcher["value"] for matcher in entry["matchers"]},
        instant(entry["startsAt"]), instant(entry["endsAt"]), entry["status"]["state"],
    )  # fmt: skip
