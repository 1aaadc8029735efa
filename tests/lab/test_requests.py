"""The official client against the running lab: real vLLM behind the real gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from lab import env, keys
from lab.cluster.lab import Lab
from tests.lab.living_lab import client, eventually, get, kubectl, serving_lab
from tests.lab.traffic import stream_to_the_end

CHAT = "/chat/completions"
PROMPT = "The word that must not be logged is xylophonist."


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


@pytest.fixture(scope="module")
def research(lab: Lab) -> Iterator[openai.OpenAI]:
    with client("research") as asking:
        yield asking


@pytest.fixture(scope="module")
def http(lab: Lab) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {keys.value('research')}"}
    with httpx.Client(base_url=str(env.gateway_url()), headers=headers, trust_env=False, timeout=60) as plain:
        yield plain


def ask(**more: Any) -> dict[str, Any]:
    """Body of one short chat with the real model."""
    return {"model": "tiny", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 8, **more}


def error_of(reply: httpx.Response) -> dict[str, Any]:
    """The error in a reply, which must have the shape of the OpenAI API and nothing beside it."""
    assert reply.headers["content-type"].startswith("application/json"), reply.text
    body = reply.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["message"], str)
    assert isinstance(error["type"], str)
    return error


def running_requests(lab: Lab) -> float:
    """How many requests the engine of model tiny works at, as it says itself."""
    pods = get(lab, "pods", "--namespace=models", "--selector=app.kubernetes.io/name=tiny")["items"]
    total = 0.0
    for name in (pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]):
        path = f"/api/v1/namespaces/models/pods/{name}:8000/proxy/metrics"
        lines = kubectl(lab, "get", "--raw", path).splitlines()
        total += sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:num_requests_running{"))
    return total


def log_line(lab: Lab, request_id: str) -> dict[str, Any]:
    """What the gateway logged of one request."""
    text = eventually(
        lambda: next((line for line in gateway_log(lab).splitlines() if request_id in line), None), seconds=30
    )
    line: dict[str, Any] = json.loads(text)
    return line


def gateway_log(lab: Lab) -> str:
    """The end of what all gateway pods said."""
    selector = "--selector=app.kubernetes.io/name=gateway"
    return kubectl(lab, "--namespace=gateway", "logs", selector, "--tail=500", "--prefix=false")


@pytest.mark.parametrize(
    ("key", "models"), [("research", {"llama-405b", "tiny"}), ("support", {"tiny"})], ids=["research", "support"]
)
def test_a_key_lists_only_the_models_it_may_use(lab: Lab, key: str, models: set[str]) -> None:
    """GET /v1/models names what the key may ask for, and no other tenant's model."""
    with client(key) as asking:
        assert {model.id for model in asking.models.list()} == models


def test_a_chat_is_answered(research: openai.OpenAI) -> None:
    """The real engine answers a whole chat with text and its usage."""
    reply = research.chat.completions.create(**ask())
    assert reply.model == "tiny"
    assert reply.choices[0].message.content
    assert reply.usage
    assert 0 < reply.usage.completion_tokens <= 8


def test_a_stream_ends_with_usage(research: openai.OpenAI) -> None:
    """Every token, the reason of the end, and the usage the client asked for."""
    stream_to_the_end(research, "tiny", tokens=40)


def test_chunks_arrive_while_the_engine_works(lab: Lab, http: httpx.Client) -> None:
    """The client has its first token while the engine is still at the request: nothing waits for the end."""
    body = ask(stream=True, max_tokens=3000, ignore_eos=True)
    with http.stream("POST", CHAT, json=body) as reply:
        lines = (line for line in reply.iter_lines() if line.startswith("data: "))
        first = next(lines)
        # Asking the engine takes seconds on a busy machine, in which chunks would pile up unread: times come first.
        times = [time.monotonic() for _, _ in zip(range(200), lines, strict=False)]
        assert running_requests(lab) >= 1
    assert first.startswith("data: {")
    assert len({round(moment, 3) for moment in times}) > 20, "200 chunks came in a few bursts"


def test_a_client_that_leaves_frees_the_engine(lab: Lab, http: httpx.Client) -> None:
    """An aborted stream of thousands of tokens is not generated for nobody."""
    eventually(lambda: running_requests(lab) == 0, seconds=60)
    with http.stream("POST", CHAT, json=ask(stream=True, max_tokens=8000, ignore_eos=True)) as reply:
        # Kept, for httpx hangs up when nobody holds the iterator any more.
        lines = reply.iter_lines()
        next(lines)
        eventually(lambda: running_requests(lab) == 1, seconds=20)
    eventually(lambda: running_requests(lab) == 0, seconds=20)
    assert log_line(lab, reply.headers["x-request-id"])["flags"] == "DC"


def test_32_streams_at_once_all_finish(research: openai.OpenAI) -> None:
    """Parallel streams each bring all their tokens and their usage."""
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda _: stream_to_the_end(research, "tiny"), range(32)))


def test_a_stream_ends_with_done(http: httpx.Client) -> None:
    """The last event on the wire is the one that clients wait for."""
    reply = http.post(CHAT, json=ask(stream=True, stream_options={"include_usage": True}))
    events = [line for line in reply.text.splitlines() if line]
    assert events[-1] == "data: [DONE]"
    assert json.loads(events[-2].removeprefix("data: "))["usage"]["completion_tokens"] <= 8


def test_a_wrong_key_is_refused(lab: Lab) -> None:
    """The official client reads it as what it is."""
    with client("research", api_key="sk-rw-wrong") as asking, pytest.raises(openai.AuthenticationError) as refused:
        asking.chat.completions.create(**ask())
    assert refused.value.code == "invalid_api_key"


@pytest.mark.parametrize("model", ["tinny", "llama-405b"], ids=["unknown", "another tenant's"])
def test_a_model_that_is_not_the_keys_own_is_not_found(lab: Lab, model: str) -> None:
    """An unknown model and another tenant's look the same: nobody learns what others run."""
    with client("support") as asking, pytest.raises(openai.NotFoundError) as refused:
        asking.chat.completions.create(**ask(model=model))
    assert refused.value.code == "model_not_found"
    assert repr(model) in refused.value.message


def test_a_prompt_of_900_kb_reaches_the_engine(http: httpx.Client) -> None:
    """The gateway lets it through, and the engine says in the OpenAI shape that its context is shorter."""
    reply = http.post(CHAT, json=ask(messages=[{"role": "user", "content": "word " * 180_000}]))
    assert reply.status_code == 400
    assert "maximum context length is 8192 tokens" in error_of(reply)["message"]


REFUSED = {
    "too large": (413, "request_too_large", {"json": {"model": "tiny", "prompt": "x" * 9_000_000}}),
    "malformed": (400, "invalid_json", {"content": b'{"model": "tiny", '}),
    "no model": (400, "missing_model", {"json": {"messages": []}}),
    "unknown model": (404, "model_not_found", {"json": {"model": "tinny"}}),
    "wrong key": (401, "invalid_api_key", {"json": ask(), "headers": {"Authorization": "Bearer sk-rw-wrong"}}),
    "bad parameter": (400, 400, {"json": ask(temperature=-5)}),
}


@pytest.mark.parametrize(("status", "code", "request_"), REFUSED.values(), ids=REFUSED)
def test_every_refusal_has_the_openai_shape(
    http: httpx.Client, status: int, code: str | int, request_: dict[str, Any]
) -> None:
    """Whoever refuses, gateway or engine, the client reads message, type, param and code."""
    headers = {"Content-Type": "application/json", **request_.get("headers", {})}
    reply = http.post(CHAT, **{**request_, "headers": headers})
    assert (reply.status_code, error_of(reply)["code"]) == (status, code)


def test_an_unknown_address_has_the_openai_shape(http: httpx.Client) -> None:
    """A typo in the path is told as such."""
    reply = http.post("/chat/completion", json=ask())
    assert (reply.status_code, error_of(reply)["code"]) == (404, "unknown_url")


def test_the_access_log_says_who_and_how_it_went(lab: Lab, http: httpx.Client) -> None:
    """One JSON line has tenant, model, status, time to first byte, bytes and tokens; no key, no prompt."""
    reply = http.post(CHAT, json=ask(stream=True, stream_options={"include_usage": True}))
    line = log_line(lab, reply.headers["x-request-id"])
    known = {"tenant": "research", "key": "research", "tier": "premium", "model": "tiny", "status": 200, "flags": "-"}
    assert {name: line[name] for name in known} == known
    assert 0 <= line["first_byte_ms"] <= line["duration_ms"]
    assert line["bytes_in"] == int(reply.request.headers["content-length"])
    assert line["bytes_out"] >= len(reply.content)
    assert line["completion_tokens"] > 0
    for secret in (keys.value("research"), "xylophonist"):
        assert secret not in gateway_log(lab)
