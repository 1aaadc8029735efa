"""Stand-in for an inference engine, used only by the Envoy conformance test: it does on demand what engines do badly.

The request's ``stub`` object says what: ``chunks`` and ``gap`` (seconds) of a stream, ``delay`` before the answer,
``think`` between a stream's headers and its first chunk, ``status`` of an error of its own, ``cut`` to drop the
connection (``before`` headers, only ``once``, or ``after`` the first chunk), ``garbage`` to answer with what is not
HTTP, ``usage`` (tokens of prompt and answer) to end a stream as vLLM does when asked for it, ``fails`` to end it with
an error object, ``undone`` to end it without its last line, ``echo`` to answer with the headers that arrived.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Engine(ThreadingHTTPServer):
    """One replica on a loopback address; remembers which requests reached it."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), _Handler)
        self.seen: list[dict[str, Any]] = []
        self.broken_pipes = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        """Tell the port that the system chose."""
        return int(self.server_address[1])

    def wishes(self, wish: dict[str, Any]) -> list[dict[str, Any]]:
        """List the requests so far that wished the same; give a wish an ``id`` to tell it from others."""
        return [seen for seen in self.seen if seen["wish"] == wish]

    def stop(self) -> None:
        """Close the door, so that a connection is refused."""
        self.shutdown()
        self.server_close()

    def die(self) -> None:
        """Close the door and drop every connection, answers in the making included."""
        self.stop()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection and remember it, to drop it when the engine dies."""
        connection, client = super().get_request()
        self._open.append(connection)
        return connection, client

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Count clients that went away instead of printing a traceback."""
        self.broken_pipes += 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Engine

    def log_message(self, *args: Any) -> None:
        """Say nothing; the test reads ``seen``."""

    def do_POST(self) -> None:
        """Answer as the request's ``stub`` object says."""
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        wish = body.get("stub", {})
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append({"path": self.path, "headers": headers, "bytes": len(raw), "wish": wish})
        time.sleep(wish.get("delay", 0))
        if wish.get("cut") == "before" or (wish.get("cut") == "once" and len(self.server.wishes(wish)) == 1):
            self._cut()
        elif wish.get("garbage"):
            self.wfile.write(b"hello\r\n\r\n")
            self._cut()
        elif "status" in wish:
            self._send(wish["status"], {"object": "error", "message": "engine says no"})
        elif body.get("stream"):
            self._stream(wish)
        else:
            usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
            answer: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
            answer |= {"choices": [choice], "usage": usage, "replica": self.server.server_address[0]}
            self._send(200, answer | ({"headers": headers} if wish.get("echo") else {}))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, wish: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        time.sleep(wish.get("think", 0))
        for number in range(wish.get("chunks", 3)):
            self._event(json.dumps(_chunk([{"index": 0, "delta": {"content": str(number)}, "finish_reason": None}])))
            if wish.get("cut") == "after":
                self._cut()
                return
            time.sleep(wish.get("gap", 0))
        if wish.get("usage"):
            prompt, answer = wish["usage"]
            if self.path == "/v1/responses":
                usage = {"input_tokens": prompt, "output_tokens": answer}
                self._event(json.dumps({"type": "response.completed", "response": {"usage": usage}}))
            else:
                usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
                self._event(json.dumps(_chunk([]) | {"usage": usage}))
        if wish.get("fails"):
            self._event(json.dumps({"error": {"message": "engine died", "type": "InternalServerError", "code": 500}}))
        if not wish.get("undone"):
            self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": choices}
