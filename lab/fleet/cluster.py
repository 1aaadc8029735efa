"""The few calls to the API server that the fleet needs, on plain JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import urllib3
from kubernetes import client, config

from lab.fleet.hosts import OWNER

POOLS = "/apis/lab.railwright.dev/v1/nodepools"
"""Path of all pools."""

NODES = "/api/v1/nodes"
"""Path of all nodes."""

PAGE = 500
"""Objects per answer of a list (count); the size kubectl uses."""

CONNECTIONS = 8
"""Requests under way at once (count): enough for 300 hosts a second, few enough for a lab's API server."""

TIMEOUT_SECONDS = 30.0
"""Longest wait for one answer (s)."""

EXPECTED = {404, 409}
"""Answers that a level-triggered loop expects: the object is gone, or it is there or newer already (HTTP status)."""

FIRST_ERROR = 400
"""Lowest HTTP status that is an error."""


class ApiError(Exception):
    """The API server said no; the loop says so and tries again later."""


class Cluster(Protocol):
    """What the controller needs of a cluster; all objects are plain JSON."""

    def pools(self) -> tuple[list[dict[str, Any]], str]:
        """All pools, and the version of the list to watch from."""

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that carry the name of a pool, of whichever."""

    def pods(self) -> list[dict[str, Any]]:
        """All pods."""

    def send(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Send one write and return the object after it; None when it met a conflict or nothing there."""

    def nodes_at(self) -> tuple[list[dict[str, Any]], str]:
        """The same nodes, and the version to watch from."""

    def events(self, path: str, version: str, seconds: int) -> Iterator[dict[str, Any]]:
        """Changes below a path after a version, of nodes only those of a pool, for at most so many seconds."""


class ApiCluster:
    """A cluster behind a kubeconfig file with a client certificate."""

    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        load: Callable[..., None] = config.load_kube_config
        load(str(kubeconfig), client_configuration=settings)
        self._host = settings.host
        # The loop tries again by itself and knows when to stop; a second layer of retries would only hide it.
        self._http = urllib3.PoolManager(
            maxsize=CONNECTIONS,
            block=True,
            retries=False,
            timeout=TIMEOUT_SECONDS,
            ca_certs=settings.ssl_ca_cert,
            cert_file=settings.cert_file,
            key_file=settings.key_file,
        )

    def pools(self) -> tuple[list[dict[str, Any]], str]:
        """All pools, and the version of the list to watch from."""
        answer = self._read(POOLS, {})
        return answer["items"], answer["metadata"]["resourceVersion"]

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that carry the name of a pool, of whichever."""
        return self._all(NODES, {"labelSelector": OWNER})

    def pods(self) -> list[dict[str, Any]]:
        """All pods."""
        return self._all("/api/v1/pods", {})

    def send(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Send one write and return the object after it; None when it met a conflict or nothing there."""
        kind = "application/merge-patch+json" if verb == "PATCH" else "application/json"
        answer = self._http.request(
            verb, self._host + path, headers={"Content-Type": kind}, body=None if body is None else json.dumps(body)
        )
        if answer.status in EXPECTED:
            return None
        return _json(answer, verb, path)

    def nodes_at(self) -> tuple[list[dict[str, Any]], str]:
        """The same nodes in one answer, and the version to watch from."""
        answer = self._read(NODES, {"labelSelector": OWNER})
        return answer["items"], answer["metadata"]["resourceVersion"]

    def events(self, path: str, version: str, seconds: int) -> Iterator[dict[str, Any]]:
        """Changes below a path after a version, of nodes only those of a pool, for at most so many seconds."""
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        if path == NODES:
            query["labelSelector"] = OWNER
        answer = self._http.request(
            "GET", self._host + path, fields=query, preload_content=False, timeout=seconds + TIMEOUT_SECONDS
        )
        try:
            _refuse_errors(answer, "WATCH", path)
            rest = b""
            for chunk in answer.stream(amt=None):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, lines)
        finally:
            # Closed, not given back: the rest of a watch that was cut short would answer the next request.
            answer.close()

    def _all(self, path: str, query: dict[str, str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            answer = self._read(path, {**query, "limit": str(PAGE), **({"continue": token} if token else {})})
            found += answer["items"]
            if not (token := answer["metadata"].get("continue", "")):
                return found

    def _read(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        return _json(self._http.request("GET", self._host + path, fields=query), "GET", path)


def _json(answer: urllib3.BaseHTTPResponse, verb: str, path: str) -> dict[str, Any]:
    _refuse_errors(answer, verb, path)
    found: dict[str, Any] = answer.json()
    return found


def _refuse_errors(answer: urllib3.BaseHTTPResponse, verb: str, path: str) -> None:
    if answer.status >= FIRST_ERROR:
        said = " ".join(answer.data.decode(errors="replace").split())[:300]
        raise ApiError(f"{verb} {path}: {answer.status} {said}")
