"""Questions to the lab's Prometheus: now, over a time, and what fires."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx

from infra.errors import CheckError, Unknown

PATIENCE_SECONDS = 30.0
"""Longest wait for one answer (s); a lab under a drill is slow."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its labels, and its values by time (seconds since 1970)."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]

    def reaches(self, window: Window) -> bool:
        """Whether it goes on to the end of a time; its last step may be late."""
        return self.points[-1][0] >= window.end - window.step


@dataclass(frozen=True, slots=True)
class Window:
    """A time to look at, in steps."""

    start: int
    """Seconds since 1970."""
    end: int
    step: int
    """Seconds between two points."""

    @classmethod
    def up_to(cls, now: float, minutes: int, step: int) -> Self:
        """The last minutes, on whole steps so that one series has the same points in every picture."""
        end = int(now) // step * step
        return cls(end - minutes * 60 // step * step, end, step)


class Prometheus:
    """One Prometheus server, asked over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url
        # A proxy for the internet knows nothing of the lab's addresses.
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_SECONDS)

    def now(self, expr: str) -> tuple[Series, ...]:
        """Every series of an expression, with its value now."""
        found = self._ask("/api/v1/query", query=expr)["result"]
        return _kept([Series(item["metric"], _points([item["value"]])) for item in found])

    def over(self, expr: str, window: Window) -> tuple[Series, ...]:
        """Every series of an expression, with its values over a time."""
        asked = {"start": str(window.start), "end": str(window.end), "step": str(window.step)}
        found = self._ask("/api/v1/query_range", query=expr, **asked)["result"]
        return _kept([Series(item["metric"], _points(item["values"])) for item in found])

    def alerts(self) -> list[Mapping[str, Any]]:
        """What fires or is about to, as Prometheus says it."""
        return list(self._ask("/api/v1/alerts")["alerts"])

    def version(self) -> str:
        """Version of the server."""
        return str(self._ask("/api/v1/status/buildinfo")["version"])

    def _ask(self, path: str, **query: str) -> Any:
        """What it says.

        Raises:
            Unknown: it does not answer, or not as Prometheus does.
            CheckError: it refuses the expression.
        """
        try:
            # Long expressions do not fit into an address.
            answer = self._http.post(path, data=query) if query else self._http.get(path)
            said = answer.json()
            if not isinstance(said, dict):
                raise ValueError(f"{answer.status_code}, and what it says is not Prometheus's")
        except (httpx.HTTPError, ValueError) as error:
            found = f"does not answer ({str(error) or type(error).__name__})"
            raise Unknown(f"Prometheus at {self.url} — {found} — see `lab status`") from error
        if said.get("errorType") == "bad_data":
            raise CheckError(f"{query.get('query')} — Prometheus refuses it: {said['error']} — correct the dashboard")
        if said.get("status") != "success":
            raise Unknown(f"Prometheus at {self.url} — cannot tell: {said.get('error')} — try again")
        return said["data"]


def _points(values: list[tuple[float, str]]) -> tuple[tuple[float, float], ...]:
    read = ((float(at), float(value)) for at, value in values)
    return tuple((at, value) for at, value in read if math.isfinite(value))


def _kept(series: list[Series]) -> tuple[Series, ...]:
    """Those with a number, in the order of their labels."""
    return tuple(sorted((one for one in series if one.points), key=lambda one: sorted(one.labels.items())))
