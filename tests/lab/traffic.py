"""Clients that stream from one model without a pause, and remember every request that did not end well."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import openai

from tests.lab.living_lab import client

TOKENS = 24
"""Length of each answer (tokens): long enough to be cut, short enough that many requests meet every moment."""

PAUSE_SECONDS = 0.25
"""Rest of a client between two requests (s); two cores must also carry what the test changes."""


@dataclass
class Traffic:
    """What the clients saw so far."""

    model: str
    key: str
    tokens: int = TOKENS
    finished: int = 0
    """Requests that brought all tokens, usage and the end (count)."""
    failures: list[str] = field(default_factory=list)
    """One line for each request that did not."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, *, keep_alive: bool) -> None:
        """Ask until told to stop."""
        with ExitStack() as stack:
            kept = stack.enter_context(client(self.key)) if keep_alive else None
            while not self._stop.wait(PAUSE_SECONDS):
                self._ask(kept)

    def stop(self) -> None:
        """Let every client end after its current request."""
        self._stop.set()

    def _ask(self, kept: openai.OpenAI | None) -> None:
        begun = time.strftime("%H:%M:%S", time.gmtime())
        try:
            with ExitStack() as stack:
                stream_to_the_end(kept or stack.enter_context(client(self.key)), self.model, self.tokens)
        except (openai.OpenAIError, httpx.HTTPError, AssertionError) as error:
            ended = time.strftime("%H:%M:%S", time.gmtime())
            with self._lock:
                self.failures.append(f"{begun} to {ended}: {type(error).__name__}: {error} ({error.__cause__!r})")
        else:
            with self._lock:
                self.finished += 1


def stream_to_the_end(asking: openai.OpenAI, model: str, tokens: int = TOKENS) -> None:
    """Stream one answer of exactly this many tokens, and check that nothing of it is missing."""
    wish: Any = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": tokens}
    messages: Any = [{"role": "user", "content": "Go on."}]
    reason = usage = None
    for chunk in asking.chat.completions.create(
        model=model, messages=messages, extra_body={"ignore_eos": True}, **wish
    ):
        reason = chunk.choices[0].finish_reason or reason if chunk.choices else reason
        usage = chunk.usage or usage
    assert reason == "length", f"the stream ended with finish_reason {reason!r}"
    assert usage is not None, "the stream ended without usage"
    assert usage.completion_tokens == tokens, f"{usage.completion_tokens} of {tokens} tokens came"


@contextmanager
def streaming(model: str, key: str, tokens: int = TOKENS) -> Iterator[Traffic]:
    """Keep asking meanwhile: two clients that keep their connection, one that opens a new one for each request."""
    traffic = Traffic(model, key, tokens)
    threads = [
        threading.Thread(target=traffic.run, kwargs={"keep_alive": keep}, daemon=True) for keep in (True, True, False)
    ]
    for thread in threads:
        thread.start()
    try:
        yield traffic
    finally:
        traffic.stop()
        for thread in threads:
            thread.join(timeout=90)
        assert not any(thread.is_alive() for thread in threads), "a request hangs"
