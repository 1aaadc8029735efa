"""Does an answer agree with itself, with its usage, and with what was asked?"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runbooks.lib.traffic.sse import EventReader

DONE = b"[DONE]"
"""What ends a stream. Source: OpenAI API reference, streaming."""

FINISHED = ("stop", "length")
"""Finish reasons of a whole answer to a request without tools. Source: OpenAI API reference."""

UNFINISHED = ("abort", "error")
"""Finish reasons with which an engine owns that it gave up. Source: vLLM 0.32, v1/engine FinishReason."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one request asked for, as far as its answer can be held to it."""

    model: str
    is_chat: bool
    max_tokens: int
    is_exact: bool
    """Whether exactly ``max_tokens`` must come."""


@dataclass(slots=True)
class StreamedAnswer:
    """One streamed answer as it comes in: feed it bytes, then ask what is wrong."""

    wish: Wish
    problem: str = ""
    """First thing that does not agree; empty while all does."""
    failure: str = ""
    """What the server itself said went wrong."""
    tokens: int = 0
    """Tokens that came; where the server does not number them, pieces with text."""
    is_numbered: bool = True
    """Whether the server said of each piece which tokens it holds."""
    first_token: float | None = None
    last_token: float = 0.0
    longest_gap: float = 0.0
    """Longest silence after the first event (s)."""
    gaps: array[float] = field(default_factory=lambda: array("f"))
    finish: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    is_done: bool = False
    _events: EventReader = field(default_factory=EventReader)
    _head: tuple[Any, Any, Any] | None = None
    _heard: float = 0.0
    _counted: int = 0

    def feed(self, piece: bytes, now: float) -> None:
        """Take the bytes that came at this time."""
        for data in self._events.feed(piece):
            self._take(data, now)

    def _take(self, data: bytes, now: float) -> None:
        if self._heard:
            self.longest_gap = max(self.longest_gap, now - self._heard)
        self._heard = now
        if self.is_done:
            self._object("[DONE] came twice" if data == DONE else "an event came after [DONE]")
            return
        if data == DONE:
            self.is_done = True
            return
        try:
            chunk = json.loads(data.decode())
        except ValueError:
            chunk = None
        if not isinstance(chunk, dict):
            self._object(f"an event is no JSON object: {data[:60]!r}")
        elif chunk.get("error"):
            self.failure = self.failure or error_message(chunk) or "an error without a message"
        else:
            try:
                self._chunk(chunk, now)
            except (LookupError, TypeError, AttributeError, ValueError) as error:
                self._object(f"a chunk has not the shape of one ({type(error).__name__}: {error})")

    def _chunk(self, chunk: Mapping[str, Any], now: float) -> None:
        self._same_answer(chunk)
        usage = chunk.get("usage")
        if self.usage:
            self._object("a chunk came after the usage")
        if choices := chunk.get("choices"):
            if len(choices) > 1 or choices[0].get("index") != 0:
                self._object("a chunk is of another choice than the one asked for")
            self._choice(choices[0], now)
            if usage:
                self._count(int(usage.get("completion_tokens") or 0))
        elif usage:
            self.usage = usage

    def _same_answer(self, chunk: Mapping[str, Any]) -> None:
        head = (chunk.get("id"), chunk.get("created"), chunk.get("model"))
        if self._head == head:
            return
        if self._head is None:
            if head[2] != self.wish.model:
                self._object(f"model {head[2]!r} answered, {self.wish.model!r} was asked")
        else:
            names = ("id", "created", "model")
            changed = [name for name, old, new in zip(names, self._head, head, strict=True) if old != new]
            self._object(f"{' and '.join(changed)} changed within the answer: two answers are mixed")
        self._head = head

    def _choice(self, choice: Mapping[str, Any], now: float) -> None:
        text = (choice.get("delta") or {}).get("content") if self.wish.is_chat else choice.get("text")
        numbers = choice.get("token_ids")
        if text or numbers:
            if self.finish:
                self._object("a token came after the finish_reason")
            self.is_numbered = self.is_numbered and isinstance(numbers, list)
            self.tokens += len(numbers) if isinstance(numbers, list) else 1
            self._token_at(now)
        if reason := choice.get("finish_reason"):
            if self.finish:
                self._object("finish_reason came twice")
            self.finish = str(reason)

    def _token_at(self, now: float) -> None:
        if self.first_token is None:
            self.first_token = now
        else:
            self.gaps.append(now - self.last_token)
        self.last_token = now

    def _count(self, counted: int) -> None:
        """Compare the server's running count with ours: a piece that is missing, doubled or displaced shows at once."""
        if self.is_numbered and self.tokens and counted != self.tokens:
            self._object(f"token {counted} by the server's count came as number {self.tokens}: one is lost or doubled")
        if counted < self._counted:
            self._object(f"the server's count fell from {self._counted} to {counted}: out of order")
        self._counted = counted

    def _object(self, problem: str) -> None:
        self.problem = self.problem or problem

    def cut(self) -> str:
        """Why the answer did not get to its end; empty if it did."""
        if self.failure:
            return f"the server broke off: {self.failure}"
        if self.finish in UNFINISHED:
            return f"the server broke off with finish_reason {self.finish!r}"
        if not self.is_done:
            return f"the stream ended after {self.tokens} tokens without [DONE]"
        return f"the server broke off after {self.tokens} tokens, without a finish_reason" if self._gave_up else ""

    @property
    def _gave_up(self) -> bool:
        """Whether a stream closed in good order, short of its end: so vLLM 0.32 ends what it writes when it is killed.

        With all its tokens there, or with a usage that counts others, the finish_reason got lost on the way: wrong.
        """
        counted = self.usage.get("completion_tokens")
        if self.finish or not isinstance(counted, int) or counted >= self.wish.max_tokens:
            return False
        return counted == self.tokens if self.is_numbered else counted >= self.tokens

    def wrong(self) -> str:
        """What does not agree in an answer that got to its end; empty if all does."""
        if self.problem or self._events.problem:
            return self.problem or self._events.problem
        if self._events.has_rest:
            return "bytes came after [DONE]"
        if not self.usage:
            return "no usage came, though it was asked for"
        counted = self.usage.get("completion_tokens")
        if not isinstance(counted, int):
            return "usage does not count the output tokens"
        if (self.is_numbered and counted != self.tokens) or counted < self.tokens:
            return f"usage counts {counted} tokens, {self.tokens} came"
        return disagreement(self.finish, counted, self.wish)


def disagreement(finish: str, tokens: int, wish: Wish) -> str:
    """What the end of an answer has against what was asked; empty if nothing."""
    if finish not in FINISHED:
        return f"finish_reason is {finish!r}, allowed are stop and length" if finish else "no finish_reason came"
    if tokens > wish.max_tokens or (wish.is_exact and tokens != wish.max_tokens):
        return f"{tokens} tokens came, {wish.max_tokens} were asked for"
    return ""


def whole_answer(body: bytes, wish: Wish) -> tuple[str, Mapping[str, Any]]:
    """Judge an answer that came in one piece.

    Returns:
        What is wrong with it (empty if nothing), and its usage.
    """
    try:
        answer = json.loads(body)
        choice, usage = answer["choices"][0], answer["usage"]
        text = choice["message"]["content"] if wish.is_chat else choice["text"]
        tokens = int(usage["completion_tokens"])
    except (ValueError, LookupError, TypeError) as error:
        return f"the answer has not the shape of one ({type(error).__name__}: {error})", {}
    if answer.get("model") != wish.model:
        return f"model {answer.get('model')!r} answered, {wish.model!r} was asked", usage
    numbers = choice.get("token_ids")
    if isinstance(numbers, list) and len(numbers) != tokens:
        return f"usage counts {tokens} tokens, {len(numbers)} came", usage
    if not isinstance(text, str):
        return "the answer has no text", usage
    return disagreement(choice.get("finish_reason") or "", tokens, wish), usage


def error_message(answer: Any) -> str:
    """The message of an OpenAI-shaped error; empty if it is none. Source: OpenAI API reference, error object."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str) or "type" not in error:
        return ""
    return str(error["message"])
