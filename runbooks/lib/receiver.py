"""``runbook receive``: answer alerts with the plan of their runbook.

Alertmanager's webhook comes in; for each alert that begins to fire, the runbooks that answer it run dry, in a process
of their own, with what the alert's labels tell them. What they find and offer goes out as JSON. Nothing is ever
written: the one option that acts is not among the words this module can say.
"""

from __future__ import annotations

import argparse
import hmac
import json
import queue
import threading
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from infra.errors import ConfigError
from runbooks.engine.discover import listed
from runbooks.engine.options import span
from runbooks.engine.screen import Screen
from runbooks.engine.stop import Stop
from runbooks.lib.answering import Alert, Answerer

LARGEST = 1024 * 1024
"""Bytes of a request; Alertmanager's groups of hundreds of alerts stay below."""
WAITING = 256
"""Alerts that may wait for their turn; beyond that Alertmanager is asked to come back."""
CONNECTIONS = 16
"""Requests served at the same time; each takes milliseconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``runbook receive``."""
    parser.add_argument("--stack", required=True, help="stack that the alerts are about")
    parser.add_argument("--listen", default="127.0.0.1:9099", metavar="HOST:PORT", help="default: 127.0.0.1:9099")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with the bearer token that is asked for")
    parser.add_argument("--post-to", default="", metavar="URL", help="where answers go; they are kept on disk as well")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="runbooks at the same time (default: 2)")
    parser.add_argument("--timeout", default="10m", metavar="TIME", help="of one runbook (default: 10m)")


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop.

    Raises:
        ConfigError: the options do not hold together.
    """
    host, port = _address(args)
    screen: Screen = args.site.screen
    folder: Path = args.site.runs / "received"
    answerer = Answerer(args.stack, folder, args.post_to, span(args.timeout), screen)
    with Stop() as stop, Receiver((host, port), answerer, args.token_file, args.at_once) as receiver:
        screen.line(
            "step", f"listening on {host}:{receiver.server_port} for alerts of stack {args.stack!r}; never acts"
        )
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        screen.line("step", f"stopped by {stop.inbox.get()}")
        receiver.shutdown()
        answerer.stop()
    return 0


def _address(args: argparse.Namespace) -> tuple[str, int]:
    host, _, port = args.listen.rpartition(":")
    problems = []
    if not host or not port.isdigit():
        problems.append(f"--listen — {args.listen!r} was found — allowed: HOST:PORT — such as 127.0.0.1:9099")
    if args.token_file and not _token(args.token_file):
        problems.append(f"--token-file — {str(args.token_file)!r} holds no token — put one line in it")
    if not args.token_file and host not in ("127.0.0.1", "localhost", "::1"):
        problems.append(f"--listen — {host!r} is open to others, and no token is asked for — add --token-file FILE")
    if args.post_to and not args.post_to.startswith(("http://", "https://")):
        problems.append(f"--post-to — {args.post_to!r} was found — allowed: an http or https URL")
    if args.at_once < 1:
        problems.append(f"--at-once — {args.at_once} was found — 1 at least is needed")
    try:
        span(args.timeout)
    except ValueError:
        problems.append(f"--timeout — {args.timeout!r} was found — allowed: a span of time such as 30s or 10m")
    if problems:
        raise ConfigError(*problems)
    return host.strip("[]"), int(port)


def _token(path: Path) -> str:
    """Read the token anew each time, so that a new one counts without a restart; empty when there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class Receiver(ThreadingHTTPServer):
    """The web server: few requests at once, each alert once while it fires."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], answerer: Answerer, token_file: Path | None, at_once: int) -> None:
        self.token_file, self._answerer = token_file, answerer
        self._waiting: queue.Queue[Alert] = queue.Queue(WAITING)
        # Read once: runbooks that change meanwhile count after a restart, as their modules do.
        self._listed = list(listed())
        self._known: set[tuple[str, str]] = set()
        self._mutex = threading.Lock()
        self._seats = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(address, _Handler)
        for _ in range(at_once):
            threading.Thread(target=self._work, daemon=True).start()

    def take(self, told: Any) -> dict[str, Any]:
        """Take in one webhook; what became of its alerts.

        Raises:
            ValueError: it is no webhook of version 4.
            queue.Full: too much is waiting; alerts taken so far stay taken.
        """
        if not isinstance(told, dict) or told.get("version") != "4" or not isinstance(told.get("alerts"), list):
            raise ValueError('not an Alertmanager webhook of version "4"')
        parsed = [(str(item.get("status")) == "firing", Alert.parse(item)) for item in told["alerts"]]
        accepted, unanswered = [], []
        for fires, alert in parsed:
            if fires and not self._answering(alert):
                unanswered.append(alert.name)
            elif self._is_news(alert, fires=fires):
                accepted.append(alert.fingerprint)
        return {"accepted": accepted, "unanswered": unanswered}

    def _answering(self, alert: Alert) -> list[str]:
        return [one.command for one in self._listed if alert.name in one.answers]

    def _is_news(self, alert: Alert, *, fires: bool) -> bool:
        """Queue an alert that was not known to fire; forget one that is over."""
        key = (alert.fingerprint, alert.starts)
        with self._mutex:
            if not fires:
                self._known = {known for known in self._known if known[0] != alert.fingerprint}
                return False
            if key in self._known:
                return False
            self._waiting.put_nowait(alert)
            self._known.add(key)
            return True

    def _work(self) -> None:
        while True:
            alert = self._waiting.get()
            with self._mutex:
                is_over = (alert.fingerprint, alert.starts) not in self._known
            if is_over:
                # It waited too long: what it would be told is about a fault that is gone.
                continue
            try:
                self._answerer.answer(alert, self._answering(alert))
            except Exception as error:  # one alert that cannot be answered must not end the worker
                self._answerer.screen.line("warn", f"{alert.name}: {type(error).__name__}: {error}")

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, or drop it when too many are open."""
        if self._seats.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection and free its seat."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver
    timeout: ClassVar[float] = 10.0
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer probes."""
        self._reply(HTTPStatus.OK if self.path == "/healthz" else HTTPStatus.NOT_FOUND, {})

    def do_POST(self) -> None:
        """Take in a webhook."""
        refused = next(self._refusals(), None)
        if refused:
            self._reply(refused[0], {"error": refused[1]})
            return
        try:
            told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._reply(HTTPStatus.ACCEPTED, self.server.take(told))
        except ValueError as error:
            self._reply(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except queue.Full:
            self._reply(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "too many alerts are waiting; come back"})

    def _refusals(self) -> Iterator[tuple[HTTPStatus, str]]:
        size = self.headers.get("Content-Length", "")
        if self.path != "/alerts":
            yield HTTPStatus.NOT_FOUND, "alerts go to /alerts"
        if self.server.token_file and not self._knows_token(_token(self.server.token_file)):
            yield HTTPStatus.UNAUTHORIZED, "a bearer token is asked for"
        if not size.isdigit():
            yield HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing"
        elif int(size) > LARGEST:
            yield HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST} bytes"

    def _knows_token(self, token: str) -> bool:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return bool(token) and hmac.compare_digest(given.encode(), token.encode())

    def _reply(self, status: HTTPStatus, told: Mapping[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # What was refused may not have been read to its end.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *words: Any) -> None:
        """Keep quiet: what matters is told by the answerer."""
