"""Ask the lab's real model one question through the gateway, and explain what is wrong when no answer comes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from infra.errors import CheckError, ConfigError
from lab import env, keys, stack_file
from lab.steps import Report

DEADLINE_SECONDS = 120.0
"""How long to ask again (s): a gateway that just learnt of a new model answers within seconds."""

PAUSE_SECONDS = 2.0
"""Wait between two tries (s)."""

TIMEOUT = httpx.Timeout(60.0, connect=5.0)
"""Longest silence of the gateway (s); a CPU needs a while for its first token after a start."""

QUESTION = "Say hello to the person who just brought you up."
"""What is asked. The lab's tiny model has random weights, so that any answer is right."""

MAX_TOKENS = 32
"""Length of the answer (tokens)."""

HINTS = {
    401: "the gateway does not know the key yet; is `pulumi up -s lab` through?",
    403: "the key may not use the model; see keys in the stack file",
    404: "the gateway does not know the model; is `pulumi up -s lab` through?",
    429: "the key is over its limit; wait and run `lab up` again",
    503: "no replica of the model is ready; see `kubectl get pods -A` and `lab doctor`",
}
"""What each status of the gateway means here, and what to do."""


NOT_YET = {
    401: "the gateway does not know the key yet",
    404: "the gateway does not know it yet",
    429: "the key is over its limit",
    503: "no replica is ready yet",
}
"""The same while it may still change."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    model: str
    text: str
    tokens: int
    """Length of the answer (tokens), as the engine counted."""
    first_token_s: float
    """Time from the request to the first piece of text (s)."""
    total_s: float
    """Time from the request to the end (s)."""


def real_model() -> str:
    """Name of the first model that runs on the real node; models on simulated hosts never answer.

    Raises:
        ConfigError: the stack has none.
    """
    pools = stack_file.section("pools")
    for name, model in stack_file.section("models").items():
        if pools.get(model.get("pool"), {}).get("board") == "lab-host":
            return str(name)
    raise ConfigError(f"{stack_file.path()} — no model is on a pool of board lab-host — one must answer — add one")


def key_for(model: str) -> str:
    """Name of the first key that may use the model.

    Raises:
        ConfigError: the stack has none.
    """
    for name, entry in stack_file.section("keys").items():
        if model in (entry.get("models") or [model]):
            return str(name)
    raise ConfigError(f"{stack_file.path()} — no key may use model {model!r} — one must — add it under railwright:keys")


def ask(client: httpx.Client, url: str, model: str, key: str, clock: Callable[[], float] = time.monotonic) -> Answer:
    """Send one streamed chat.

    Raises:
        httpx.HTTPError: the gateway did not answer, or answered with an error.
        CheckError: the stream brought no text.
    """
    body = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": QUESTION}],
    }
    start, first, text, tokens = clock(), 0.0, "", 0
    headers = {"Authorization": f"Bearer {key}"}
    with client.stream("POST", f"{url}/chat/completions", json=body, headers=headers, timeout=TIMEOUT) as answer:
        if answer.is_error:
            answer.read()
            answer.raise_for_status()
        for line in answer.iter_lines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line.removeprefix("data: "))
            piece = "".join(choice["delta"].get("content") or "" for choice in event["choices"])
            if piece and not text:
                first = clock() - start
            text += piece
            tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    if not text:
        raise CheckError(f"model {model!r} — streamed no text — some is expected — see `lab logs kubelet`")
    return Answer(model, text, tokens, first, clock() - start)


def explain(error: Exception, url: str, model: str) -> str:
    """Say in one sentence which part failed, and what to look at."""
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        said = " ".join(error.response.text.split())[:200]
        hint = HINTS.get(status, "run `lab doctor`")
        return f"gateway {url} — answered {status} for model {model!r}: {said} — {hint}"
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return f"gateway {url} — cannot be reached ({error}) — its pods must be ready: kubectl get pods -A; lab doctor"
    if isinstance(error, httpx.TimeoutException):
        return f"model {model!r} — was silent for {TIMEOUT.read:.0f} s after the request — see `kubectl get pods -A`"
    if isinstance(error, httpx.HTTPError):
        return f"gateway {url} — cut the answer of model {model!r} short ({error}) — see the gateway's log"
    return str(error)


def waits_for(error: Exception, model: str) -> str:
    """Say in a few words what an answer waits for, while it may still come."""
    reason = "the gateway does not answer yet"
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        reason = NOT_YET.get(status, f"the gateway answers {status}")
    elif isinstance(error, CheckError | httpx.ReadTimeout):
        reason = "it has said nothing yet"
    return f"waiting for model {model!r} ({reason})"


def first_answer(
    report: Report, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Answer:
    """Ask until an answer comes or the time is up.

    Raises:
        CheckError: no answer; the message says which part is to blame.
    """
    model, url = real_model(), env.gateway_url()
    if url is None:
        raise ConfigError("lab — has no real node — a first request needs one — run `lab up` without --simulated")
    key = keys.value(key_for(model))
    end = clock() + DEADLINE_SECONDS
    # trust_env off: a proxy for the internet knows nothing of the lab's addresses.
    with httpx.Client(trust_env=False) as client:
        report(f"asks model {model!r} at {url}")
        while True:
            try:
                return ask(client, url, model, key, clock)
            except (httpx.HTTPError, CheckError) as error:
                if clock() >= end:
                    raise CheckError(explain(error, url, model)) from error
                report(waits_for(error, model))
            sleep(PAUSE_SECONDS)
