"""What the gateway's tests have in common as clients: two tenants' keys, and how they ask."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx

from infra.plan.envoy import ClientKey, GatewayRoutes, Upstream
from tests.lab.envoy_process import free_ports
from tests.lab.envoy_stub import Engine

ACME, BETA = "acme-" + "k" * 40, "beta-" + "j" * 40
CHAT = "/v1/chat/completions"
BIG = "org/big"


def routes_to(engine: Engine) -> GatewayRoutes:
    """Two tenants; one may use everything, one only the tiny model."""
    return GatewayRoutes(
        models=(
            Upstream("tiny", "localhost", engine.port),
            Upstream(BIG, "localhost", engine.port),
            Upstream("dead", "localhost", free_ports(1)[0]),
            Upstream("gone", "nowhere.invalid.", 80),
        ),
        keys=(
            ClientKey("acme-1", "acme", "premium", ACME),
            ClientKey("beta-1", "beta", "batch", BETA, ("tiny",)),
        ),
        longest_answer=timedelta(seconds=60),
        idle_timeout=timedelta(seconds=30),
    )


def bearer(value: str) -> dict[str, str]:
    """Header that carries a key."""
    return {"authorization": f"Bearer {value}"}


def ask(model: Any = "tiny", **more: Any) -> dict[str, Any]:
    """Body of a chat request; ``stub`` tells the stand-in engine what to do."""
    return {"model": model, "messages": [{"role": "user", "content": "secret-prompt"}], **more}


def assert_refused(reply: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check that a reply is an OpenAI error, whole."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["server"] == "railwright"
    error = dict(reply.json()["error"])
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["code"] == code, error
    assert error["type"] == ("invalid_request_error" if status < 500 else "server_error")
    return error


HTTP2_RESET = b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08"
"""RST_STREAM of stream 1 with CANCEL: how a client of HTTP/2 leaves one answer and keeps its connection."""


def http2_request(method: str, path: str, key: str, body: bytes = b"") -> bytes:
    """Write a connection's first frames in HTTP/2 without TLS, with one request as stream 1 and literal headers."""
    fields = {":method": method, ":scheme": "http", ":path": path, ":authority": "x", "authorization": f"Bearer {key}"}
    block = b""
    for name, value in (fields | {"content-type": "application/json"}).items():
        block += b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    headers = len(block).to_bytes(3, "big") + (b"\x01\x04" if body else b"\x01\x05") + b"\x00\x00\x00\x01" + block
    data = len(body).to_bytes(3, "big") + b"\x00\x01\x00\x00\x00\x01" + body if body else b""
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + headers + data


def http2_data(connection: socket.socket) -> Iterator[bytes]:
    """Yield the payload of each data frame until the stream ends."""
    with connection.makefile("rb") as frames:
        while head := frames.read(9):
            payload = frames.read(int.from_bytes(head[:3], "big"))
            if head[3] == 0:
                yield payload
            if head[3] in (0, 1) and head[4] & 1:
                return
