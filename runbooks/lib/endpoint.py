"""A service of the monitoring over HTTP: at its own address, or else by way of the API server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown

if TYPE_CHECKING:
    import httpx

    from runbooks.lib.kubernetes.api import Api

TIMEOUT_SECONDS = 15.0
"""How long one request may take (s)."""


@dataclass
class Endpoint:
    """One HTTP service."""

    who: str
    """Its name in sentences, such as ``Prometheus``."""
    url: str
    """Base URL without trailing slash; empty when only the API server leads there."""
    api: Api | None = None
    service: str = ""
    """``namespace/name:port`` of its Service, for the way by the API server."""

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx

        return httpx.Client(base_url=self.url, timeout=TIMEOUT_SECONDS, trust_env=False)

    def fetch(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> tuple[int, str]:
        """Send one request; gives status and text.

        Raises:
            Unknown: there is no answer, or only that something failed.
        """
        status, text = self._send(method, path, params or {}, body)
        if status >= 500:
            raise Unknown(f"{self.who} — failed with {status} at {path}: {_short(text)} — see that it runs")
        return status, text

    def json(self, path: str, **params: str) -> Any:
        """Get a page of JSON.

        Raises:
            Unknown: there is none.
        """
        status, text = self.fetch("GET", path, params=params)
        if status != 200:
            raise Unknown(f"{self.who} — answers {status} at {path}: {_short(text)} — see that its address is right")
        return decoded(self.who, path, text)

    def _send(self, method: str, path: str, params: Mapping[str, str], body: Any) -> tuple[int, str]:
        if not self.url and self.api is not None:
            namespace, _, name = self.service.partition("/")
            proxy = f"/api/v1/namespaces/{namespace}/services/{name}/proxy{path}"
            return self.api.fetch(method, proxy, params=params, body=body)
        import httpx

        try:
            answer = self._http.request(method, path, params=dict(params), json=body)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unknown(f"{self.who} — gives no answer at {self.url} ({reason}) — see that it runs") from error
        return answer.status_code, answer.text


def decoded(who: str, path: str, text: str) -> Any:
    """Read JSON that a service sent.

    Raises:
        Unknown: it is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unknown(f"{who} — what it sends at {path} is no JSON: {_short(text)} — see its address") from error


def _short(text: str) -> str:
    return repr(" ".join(text.split())[:160])
