"""A STAND-IN for a gateway: it answers as vLLM does, with the fault that the path names; it serves no model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tests.unit.runbooks.traffic.streams import ERROR, FAULTS, answer, encode

FULL = {"error": {"message": "too many requests", "type": "rate_limit_error", "param": None, "code": "full"}}

STATUSES: dict[str, tuple[int, Any]] = {
    "refused with 429": (429, FULL),
    "refused with 503": (503, FULL),
    "503 in another shape": (503, {"detail": "upstream connect error"}),
    "500": (500, ERROR),
    "404": (404, FULL),
}
"""Faults that are a status."""


class StandIn:
    """One server; the first word of the path says how it behaves."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        """Wait before each piece of a stream (s)."""
        self.port = 0
        self.connections = 0
        self.loop = asyncio.new_event_loop()

    def url(self, behaviour: str) -> str:
        return f"http://127.0.0.1:{self.port}/{quote(behaviour, safe='')}/v1"

    async def listen(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=2048)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                length = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
                )
                body = json.loads(await reader.readexactly(length)) if length else {}
                behaviour = unquote(path.split("/")[1])
                await self._answer(writer, behaviour, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, behaviour: str, body: dict[str, Any]) -> None:
        if not body:
            return await self._json(writer, 200, {"data": [{"id": "tiny"}]})
        if behaviour in STATUSES:
            return await self._json(writer, *STATUSES[behaviour])
        if behaviour == "hangs":
            await asyncio.sleep(60)
        if behaviour in ("hangs", "resets"):
            raise ConnectionResetError
        if not body.get("stream"):
            return await self._whole(writer, behaviour, body)
        return await self._stream(writer, behaviour, body)

    async def _stream(self, writer: asyncio.StreamWriter, behaviour: str, body: dict[str, Any]) -> None:
        kind = "text/html" if behaviour == "another content type" else "text/event-stream"
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-request-id: r-1\r\n"
        writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        events = answer(tokens=body["max_tokens"])
        events = FAULTS[behaviour][2](events) if behaviour in FAULTS else events
        pieces = [encode([event]) for event in events]
        if behaviour == "byte by byte":
            data = b"".join(pieces)
            pieces = [data[at : at + 1] for at in range(len(data))]
        for number, piece in enumerate(pieces):
            await asyncio.sleep(self.pause if behaviour != "stalls" or number != 3 else 1.0)
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if behaviour == "connection breaks" and number == 3:
                await writer.drain()
                raise ConnectionResetError
        if behaviour == "breaks after [DONE]":
            await writer.drain()
            raise ConnectionResetError
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _whole(self, writer: asyncio.StreamWriter, behaviour: str, body: dict[str, Any]) -> None:
        tokens = body["max_tokens"] - (behaviour == "too short")
        choice = {"index": 0, "message": {"content": "x"}, "text": "x", "finish_reason": "length"}
        usage = {"prompt_tokens": 5, "completion_tokens": tokens}
        await self._json(
            writer, 200, {"model": "tiny", "choices": [choice], "usage": usage}, is_cut=behaviour == "connection breaks"
        )

    async def _json(self, writer: asyncio.StreamWriter, status: int, body: Any, *, is_cut: bool = False) -> None:
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + (data[:-9] if is_cut else data))
        await writer.drain()
        if is_cut:
            raise ConnectionResetError


@contextmanager
def standing_apart(pause: float) -> Iterator[str]:
    """Serve from a process of its own, so that its CPU time is not the driver's; the URL of answers without fault."""
    code = f"from tests.lab.traffic_standin import serve; serve({pause})"
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def serve(pause: float) -> None:
    """Print the URL, then serve until ended."""
    stand_in = StandIn(pause)
    stand_in.loop.run_until_complete(stand_in.listen())
    print(stand_in.url("none"), flush=True)
    stand_in.loop.run_forever()


@contextmanager
def standing_in(pause: float = 0.0, port: int = 0) -> Iterator[StandIn]:
    """Serve from a thread."""
    stand_in = StandIn(pause)
    stand_in.port = port
    server = stand_in.loop.run_until_complete(stand_in.listen())
    thread = threading.Thread(target=stand_in.loop.run_forever, daemon=True)
    thread.start()

    async def close() -> None:
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    try:
        yield stand_in
    finally:
        asyncio.run_coroutine_threadsafe(close(), stand_in.loop).result(timeout=10)
        stand_in.loop.call_soon_threadsafe(stand_in.loop.stop)
        thread.join(timeout=10)
        stand_in.loop.close()
