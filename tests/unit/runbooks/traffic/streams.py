"""Streams as vLLM 0.32 writes them, and what can go wrong with one; each fault is a change of the list of events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

DONE = "[DONE]"
TOKENS = 6
"""Tokens of each answer here."""

Event = dict[str, Any] | str
Fault = Callable[[list[Event]], list[Event]]


def chunk(number: int, *, is_chat: bool = True, last: int = TOKENS, **changes: Any) -> dict[str, Any]:
    """The piece with one token; number 0 carries the role alone."""
    text = "" if number == 0 else f" wörd{number}"
    body: dict[str, Any] = {"delta": {"content": text}} if is_chat else {"text": text}
    if number:
        body["token_ids"] = [1000 + number]
    body |= {"index": 0, "finish_reason": "length" if number == last else None}
    usage = {"prompt_tokens": 14, "completion_tokens": number, "total_tokens": 14 + number}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1796177241, "model": "tiny"}
    return head | {"choices": [body], "usage": usage} | changes


def usage(tokens: int = TOKENS) -> dict[str, Any]:
    """The last piece, with the count of all."""
    return chunk(tokens) | {"choices": [], "usage": {"prompt_tokens": 14, "completion_tokens": tokens}}


def answer(*, is_chat: bool = True, tokens: int = TOKENS) -> list[Event]:
    """A whole answer without fault."""
    first = 0 if is_chat else 1
    pieces: list[Event] = [chunk(number, is_chat=is_chat, last=tokens) for number in range(first, tokens + 1)]
    return [*pieces, usage(tokens), DONE]


def plain(events: list[Event]) -> list[Event]:
    """The same from an engine that does not number its tokens."""
    bare: list[Event] = []
    for event in events:
        if isinstance(event, dict) and event.get("choices"):
            choice = {key: value for key, value in event["choices"][0].items() if key != "token_ids"}
            event = {key: value for key, value in event.items() if key != "usage"} | {"choices": [choice]}  # noqa: PLW2901  the changed copy
        bare.append(event)
    return bare


def encode(events: list[Event], end: str = "\n") -> bytes:
    """Bytes on the wire."""
    texts = [event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events]
    return "".join(f"data: {text}{end}{end}" for text in texts).encode()


def _finish(reason: str | None) -> Fault:
    def change(events: list[Event]) -> list[Event]:
        last = chunk(TOKENS)
        last["choices"][0]["finish_reason"] = reason
        return [*events[:TOKENS], last, *events[TOKENS + 1 :]]

    return change


ERROR = {"error": {"message": "EngineCore died", "type": "InternalServerError", "param": None, "code": 500}}


def _given_up(events: list[Event]) -> list[Event]:
    """As vLLM closes a stream when it is killed: no error, no finish_reason."""
    return [*events[:4], usage(3), DONE]


FAULTS: dict[str, tuple[str, str, Fault]] = {
    "none": ("ok", "", lambda e: e),
    "ends in the middle": ("cut", "without [DONE]", lambda e: e[:3]),
    "ends in the middle of an event": ("cut", "without [DONE]", lambda e: e[:-1]),
    "no [DONE]": ("cut", "without [DONE]", lambda e: e[:-1]),
    "error object, then [DONE]": ("cut", "EngineCore died", lambda e: [*e[:3], ERROR, DONE]),
    "error as a string": ("cut", "broke off", lambda e: [*e[:3], {"error": "boom"}, DONE]),
    "[DONE] and usage before its end": ("cut", "after 3 tokens, without a finish_reason", _given_up),
    "finish_reason abort": ("cut", "'abort'", _finish("abort")),
    "[DONE] twice": ("wrong", "[DONE] came twice", lambda e: [*e, DONE]),
    "a token after [DONE]": ("wrong", "after [DONE]", lambda e: [*e, chunk(7)]),
    "a token doubled": ("wrong", "lost or doubled", lambda e: [*e[:3], e[2], *e[3:]]),
    "a token lost": ("wrong", "lost or doubled", lambda e: [*e[:3], *e[4:]]),
    "two tokens swapped": ("wrong", "lost or doubled", lambda e: [*e[:2], e[3], e[2], *e[4:]]),
    "the first token lost": ("wrong", "lost or doubled", lambda e: [e[0], *e[2:]]),
    "no usage": ("wrong", "no usage", lambda e: [*e[:-2], DONE]),
    "usage counts too few": ("wrong", "usage counts 5 tokens, 6 came", lambda e: [*e[:-2], usage(5), DONE]),
    "usage counts too many": ("wrong", "usage counts 7 tokens, 6 came", lambda e: [*e[:-2], usage(7), DONE]),
    "a chunk after the usage": ("wrong", "after the usage", lambda e: [*e[:-1], chunk(0), DONE]),
    "too short": ("wrong", "4 tokens came, 6 were asked", lambda e: answer(tokens=4)),
    "too long": ("wrong", "8 tokens came, 6 were asked", lambda e: answer(tokens=8)),
    "no finish_reason": ("wrong", "no finish_reason", _finish(None)),
    "finish_reason tool_calls": ("wrong", "'tool_calls'", _finish("tool_calls")),
    "finish_reason twice": ("wrong", "twice", lambda e: [*e[:7], _finished_again(), *e[7:]]),
    "two answers mixed": ("wrong", "id changed", lambda e: [*e[:3], chunk(3, id="chatcmpl-2"), *e[4:]]),
    "created changes": ("wrong", "created changed", lambda e: [*e[:3], chunk(3, created=1), *e[4:]]),
    "another model": ("wrong", "'other' answered", lambda e: [x if x == DONE else {**x, "model": "other"} for x in e]),  # type: ignore[dict-item]
    "another choice": ("wrong", "another choice", lambda e: [*e[:3], _of_choice(1), *e[4:]]),
    "no JSON": ("wrong", "no JSON object", lambda e: [*e[:3], "{oops", *e[3:]]),
    "a chunk of another shape": ("wrong", "not the shape", lambda e: [*e[:3], chunk(3, choices="x"), *e[3:]]),
}
"""Fault by name: the verdict it must get, what the reason must say, and how it is made."""


def _finished_again() -> dict[str, Any]:
    piece = chunk(0)
    piece["choices"][0]["finish_reason"], piece["usage"]["completion_tokens"] = "length", TOKENS
    return piece


def _of_choice(index: int) -> dict[str, Any]:
    piece = chunk(3)
    piece["choices"][0]["index"] = index
    return piece
