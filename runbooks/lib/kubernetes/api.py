"""The API server over HTTP: plain data in and out, each failure as one of three errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from infra.errors import ConfigError, Unknown
from runbooks.lib.writing import Result

if TYPE_CHECKING:
    import httpx2
    from lightkube import Client

Object = dict[str, Any]
"""A Kubernetes object as plain data."""

FIELD_MANAGER = "pulumi-kubernetes-runbook"
"""Owner of the fields that runbooks write. Pulumi takes over what a manager of this beginning holds, so that its next
update meets no conflict. Source: pulumi-kubernetes, provider/pkg/await/await.go, fixCSAFieldManagers."""

MERGE = "application/merge-patch+json"
"""A patch that replaces lists and drops what is null. Source: RFC 7386."""

T = TypeVar("T")

TIMEOUT_SECONDS = 10.0
"""How long one request may take (s)."""


class Refused(ConfigError):  # noqa: N818  named for what the server did
    """The API server said no; nothing was changed."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Absent(Refused):
    """There is no such thing (404)."""


class Conflict(Refused):
    """Somebody else was faster (409)."""


class Later(Refused):
    """Not now (429): a disruption budget holds, or the server is busy."""


_KINDS: Mapping[int, type[Refused]] = {404: Absent, 409: Conflict, 429: Later}


@dataclass
class Api:
    """One API server; connects when first asked."""

    kubeconfig: Callable[[], Path]
    """Gives the kubeconfig, when it is needed."""
    _plurals: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    @cached_property
    def _config(self) -> Any:
        from lightkube.config.kubeconfig import KubeConfig

        return KubeConfig.from_file(self.kubeconfig()).get()

    @cached_property
    def _http(self) -> httpx2.Client:
        import httpx2
        from lightkube.config import client_adapter

        parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS), trust_env=False)
        return client_adapter.Client(self._config, parameters)

    @cached_property
    def _lightkube(self) -> Client:
        from lightkube import Client

        return Client(config=self._config, trust_env=False)

    def fetch(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        media: str = "application/json",
    ) -> tuple[int, str]:
        """Send one request and give back status and text, whatever they are.

        Raises:
            Unknown: the server cannot be reached.
        """
        import httpx2

        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": media} if content else {}
        send = partial(self._http.request, method, path, content=content, headers=headers, params=dict(params or {}))
        try:
            # A kept connection whose server has gone since; reading again harms nobody.
            stale = (httpx2.RemoteProtocolError, httpx2.ReadError) if method == "GET" else ()
            answer = _twice(send, (httpx2.ConnectError, *stale))
        except httpx2.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unknown(f"{method} {path} — the API server gives no answer ({reason}) — see that it runs") from error
        return answer.status_code, answer.text

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        media: str = "application/json",
    ) -> str:
        """Send one request and give back the text of a good answer.

        Raises:
            Refused: the server said no.
            Unknown: it cannot be reached, or failed.
        """
        owner = {"fieldManager": FIELD_MANAGER} if method in ("PATCH", "PUT", "POST") else {}
        status, text = self.fetch(method, path, body=body, params={**(params or {}), **owner}, media=media)
        if status < 300:
            return text
        who, said = f"{method} {path}", _message(text)
        # A read that is put off, as by a server whose storage has just come back, tells nothing yet.
        if status >= 500 or (status == 429 and method == "GET"):
            raise Unknown(f"{who} — the API server failed with {status}: {said} — see its log")
        raise _KINDS.get(status, Refused)(f"{who} — refused with {status}: {said}", status)

    def ask(self, path: str, **params: str) -> Object:
        """Get one object or list."""
        return _decoded(self.call("GET", path, params=params))

    def send(self, method: str, path: str, body: Any = None, *, media: str = "application/json") -> Object:
        """Write, and get back what the server made of it."""
        return _decoded(self.call(method, path, body=body, media=media))

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """Path of an object, or of the list of its kind.

        Raises:
            ConfigError: the cluster does not know the kind.
        """
        base = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        plural, namespaced = self._plural(base, kind)
        where = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{base}{where}/{plural}" + (f"/{name}" if name else "")

    def _plural(self, base: str, kind: str) -> tuple[str, bool]:
        if base not in self._plurals:
            found = self.ask(base)["resources"]
            self._plurals[base] = {e["kind"]: (e["name"], e["namespaced"]) for e in found if "/" not in e["name"]}
        if kind not in self._plurals[base]:
            known = ", ".join(sorted(self._plurals[base]))
            raise ConfigError(f"kind {kind!r} — {base} does not have it — it has {known} — name one of them")
        return self._plurals[base][kind]

    def execute(self, namespace: str, pod: str, argv: Sequence[str], container: str, timeout: float) -> Result:
        """Run a command in a container.

        Raises:
            Refused: there is no such container, or it cannot run the command.
            Unknown: no answer within the time.
        """
        import httpx2
        from httpx2.websockets import HTTPXWSException, WebSocketUpgradeError

        who = f"exec in pod {namespace}/{pod}: {' '.join(argv)}"
        options = {"namespace": namespace, "container": container or None, "command": list(argv)}
        send = partial(self._lightkube.exec, pod, stdout=True, stderr=True, timeout=timeout, **options)  # type: ignore[arg-type]  # the options of exec, all named
        try:
            answer = _twice(send, (httpx2.ConnectError,))
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise Unknown(f"{who} — no answer within {timeout:g} s — see whether the pod's host works") from error
        except (httpx2.HTTPStatusError, WebSocketUpgradeError) as error:
            status = error.response.status_code if error.response is not None else 0
            if status >= 500:
                raise Unknown(f"{who} — the API server gets no answer ({error}) — see the pod's kubelet") from error
            raise Refused(f"{who} — refused: {error}", status) from error
        except (httpx2.HTTPError, HTTPXWSException) as error:
            raise Unknown(f"{who} — the connection failed ({error}) — see whether the pod's host works") from error
        return Result(answer.exit_code, str(answer.stdout or ""), str(answer.stderr or ""))


def _twice(send: Callable[[], T], errors: tuple[type[Exception], ...]) -> T:
    """Send again, once, after a failure that a second request may not meet.

    Where no connection was made nothing has begun, so that a write is as safe to send again as a read.
    """
    try:
        return send()
    except errors:
        return send()


def _decoded(text: str) -> Object:
    found = json.loads(text)
    return found if isinstance(found, dict) else {"items": found}


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return " ".join(text.split())[:200] or "no reason given"
