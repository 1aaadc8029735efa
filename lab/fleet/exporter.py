"""The series of all simulated hosts at one address: a page that follows the Nodes, and costs a scrape nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from urllib3.exceptions import HTTPError

from lab.fleet import series
from lab.fleet.cluster import NODES, ApiError, Cluster
from lab.fleet.hosts import Object
from lab.fleet.signals import signals_of

WATCH_SECONDS = 300
"""How long one watch of the Nodes lasts before it is asked anew (s)."""

RETRY_SECONDS = 2.0
"""Wait after an API server that is away (s); meanwhile the page says what was last known."""

log = logging.getLogger("exporter")


class Page:
    """What a scrape reads: the series of each host, rendered when its Node changes."""

    def __init__(self) -> None:
        self._hosts: dict[str, str] = {}
        self._told: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def reset(self, nodes: Sequence[Object]) -> None:
        """Know exactly these hosts."""
        fresh = {node["metadata"]["name"]: self._render(node) for node in nodes}
        with self._lock:
            self._hosts = fresh

    def see(self, event: Object) -> None:
        """Follow one change."""
        node = event["object"]
        name, is_gone = node["metadata"]["name"], event["type"] == "DELETED"
        text = "" if is_gone else self._render(node)
        with self._lock:
            if is_gone:
                self._hosts.pop(name, None)
            else:
                self._hosts[name] = text

    def text(self) -> bytes:
        """The page."""
        with self._lock:
            return (series.head() + "".join(self._hosts.values())).encode()

    def _render(self, node: Object) -> str:
        name, mistakes = node["metadata"]["name"], signals_of(node).mistakes
        if mistakes != self._told.get(name, ()):
            for mistake in mistakes:
                log.warning("%s", mistake)
            self._told[name] = mistakes
        return series.render(node)


def follow(cluster: Cluster, page: Page) -> None:
    """Keep the page current for ever."""
    while True:
        try:
            nodes, version = cluster.nodes_at()
            page.reset(nodes)
            for event in cluster.events(NODES, version, WATCH_SECONDS):
                if event["type"] == "ERROR":
                    break
                page.see(event)
        except (HTTPError, ApiError, OSError) as error:
            log.warning("shows what was last known until it works: %s", error)
            time.sleep(RETRY_SECONDS)


def serve(cluster: Cluster, address: str, port: int) -> ThreadingHTTPServer:
    """Answer ``GET /metrics`` from a thread of its own, beside the one that follows the Nodes."""
    page = Page()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer one scrape."""
            body = page.text() if self.path == "/metrics" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name that the base class has
            """A scrape every few seconds is no news."""

    server = ThreadingHTTPServer((address, port), Handler)
    for target, args in ((follow, (cluster, page)), (server.serve_forever, ())):
        threading.Thread(target=target, args=args, daemon=True, name=target.__name__).start()
    return server
