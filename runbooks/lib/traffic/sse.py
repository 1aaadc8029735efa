"""Server-sent events out of bytes that arrive in any pieces. Source: WHATWG HTML, 9.2 Server-sent events."""

from __future__ import annotations

_FIELDS = (b"event", b"id", b"retry")
"""Fields besides ``data`` that a line may have; they carry nothing of an answer."""


class EventReader:
    """Reads one stream; how its bytes are cut into pieces makes no difference."""

    def __init__(self) -> None:
        self._rest = b""
        self._held = b""
        self.problem = ""
        """The first line that is none of an event stream's; empty while all is well."""

    def feed(self, piece: bytes) -> list[bytes]:
        """Take the next bytes; return the data of each event that they complete."""
        if self._held or b"\r" in piece:
            piece = self._with_plain_ends(piece)
        if self._rest:
            piece = self._rest + piece
        *blocks, self._rest = piece.split(b"\n\n")
        return [data for block in blocks if (data := self._data(block)) is not None]

    @property
    def has_rest(self) -> bool:
        """Whether the stream would end in the middle of an event."""
        return bool(self._rest.strip(b"\n"))

    def _with_plain_ends(self, piece: bytes) -> bytes:
        """Make every end of line one byte; a CR at the end waits, as an LF may follow it in the next piece."""
        piece = self._held + piece
        self._held = b"\r" if piece.endswith(b"\r") else b""
        return piece.removesuffix(self._held).replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _data(self, block: bytes) -> bytes | None:
        if block.startswith(b"data: ") and b"\n" not in block:  # nearly all of them
            return block[6:]
        found: list[bytes] = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            if name == b"data":
                found.append(value.removeprefix(b" "))
            elif line and name and name not in _FIELDS:
                self.problem = self.problem or f"a line that is none of an event stream: {line[:60]!r}"
        return b"\n".join(found) if found else None
