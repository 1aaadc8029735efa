"""The rendered gateway, run by the real Envoy: keys, routing and every error in the OpenAI shape."""

from __future__ import annotations

import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.lab.envoy_client import ACME, BETA, BIG, CHAT, ask, assert_refused, bearer, routes_to
from tests.lab.envoy_process import ENVOY, WEB, Gateway, running, soon, write_config
from tests.lab.envoy_stub import Engine


def test_envoy_accepts_the_configuration(engine: Engine, tmp_path: Path) -> None:
    """The bootstrap passes Envoy's own validation."""
    path = write_config(routes_to(engine), tmp_path)
    args = [str(ENVOY), "--mode", "validate", "-l", "error", "-c", str(path)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_engine_learns_the_caller_and_never_the_key(http: httpx.Client) -> None:
    """What a client claims about itself is replaced, and its key and its Envoy headers stay behind."""
    lies = {"x-railwright-tenant": "x", "x-railwright-client": "x/x/x", "x-envoy-max-retries": "9", "x_tenant": "x"}
    got = http.post(CHAT, json=ask(stub={"echo": True}), headers=lies).json()["headers"]
    assert (got["x-railwright-tenant"], got["x-railwright-tier"], got["x-railwright-key"]) == (
        "acme",
        "premium",
        "acme-1",
    )
    assert not {"authorization", "x-railwright-client", "x-envoy-max-retries", "x_tenant"} & got.keys()
    assert ACME not in json.dumps(got)


@pytest.mark.parametrize("path", [CHAT, "/v1/models", "/v1/models/tiny", "/v1/nothing"])
@pytest.mark.parametrize("headers", [{}, bearer("no-such-key"), bearer(ACME + "x")], ids=["missing", "wrong", "longer"])
def test_no_valid_key_opens_nothing(gateway: Gateway, path: str, headers: dict[str, str]) -> None:
    """Without a valid key every path says 401, before anything of the body is looked at."""
    reply = WEB.post(gateway.url + path, json=ask(), headers=headers)
    assert_refused(reply, 401, "invalid_api_key")
    assert reply.headers["x-request-id"]


@pytest.mark.parametrize("model", ["tiny", BIG])
@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/embeddings", "/v1/responses"])
def test_body_chooses_the_model(http: httpx.Client, model: str, path: str) -> None:
    """The model in the body decides, on every inference path."""
    assert http.post(path, json=ask(model)).json()["model"] == model


def test_content_type_may_name_a_charset(http: httpx.Client) -> None:
    """Parameters of the content type do not make a request another one."""
    reply = http.post(CHAT, content=b'{"model":"tiny"}', headers={"content-type": "Application/JSON; charset=utf-8"})
    assert reply.status_code == 200, reply.text


JSON = {"content-type": "application/json"}
REFUSED: dict[str, tuple[str, str, dict[str, Any], int, str]] = {
    "unknown model": ("POST", CHAT, {"json": ask('no"%pe')}, 404, "model_not_found"),
    "number as model": ("POST", CHAT, {"json": ask(7)}, 404, "model_not_found"),
    "model missing": ("POST", CHAT, {"json": {"messages": []}}, 400, "missing_model"),
    "model null": ("POST", CHAT, {"json": ask(None)}, 400, "missing_model"),
    "model is an object": ("POST", CHAT, {"json": ask({"a": 1})}, 400, "missing_model"),
    "model of 20 kB": ("POST", CHAT, {"json": ask("x" * 20_000)}, 400, "missing_model"),
    "body is a list": ("POST", CHAT, {"json": ["model"]}, 400, "missing_model"),
    "body empty": ("POST", CHAT, {"content": b"", "headers": JSON}, 400, "missing_model"),
    "body cut short": ("POST", CHAT, {"content": b'{"model":"tiny",', "headers": JSON}, 400, "invalid_json"),
    "body not UTF-8": ("POST", CHAT, {"content": b'{"model":"\xff"}', "headers": JSON}, 400, "invalid_json"),
    "body too deep": ("POST", CHAT, {"content": b'{"model":' + b"[" * 500_000, "headers": JSON}, 400, "invalid_json"),
    "form": ("POST", CHAT, {"data": {"model": "tiny"}}, 400, "unsupported_media_type"),
    "no content type": ("POST", CHAT, {"content": b'{"model":"tiny"}'}, 400, "unsupported_media_type"),
    "unknown path": ("GET", "/v1/nothing?token=abc", {}, 404, "unknown_url"),
    "admin path": ("GET", "/config_dump", {}, 404, "unknown_url"),
    "path tricks": ("POST", "/v1/chat//../../x/v1/chat/completionsX", {"json": ask()}, 404, "unknown_url"),
    "GET for POST": ("GET", CHAT, {}, 405, "method_not_allowed"),
    "POST for GET": ("POST", "/v1/models", {"json": ask()}, 405, "method_not_allowed"),
    "DELETE a model": ("DELETE", "/v1/models/tiny", {}, 405, "method_not_allowed"),
    "model not in list": ("GET", "/v1/models/none", {}, 404, "model_not_found"),
    "too large": ("POST", CHAT, {"json": ask(pad="x" * 9_000_000)}, 413, "request_too_large"),
    "upgrade": ("GET", "/v1/models", {"headers": {"connection": "upgrade", "upgrade": "websocket"}}, 403, "forbidden"),
    "no replica reachable": ("POST", CHAT, {"json": ask("dead")}, 503, "replica_lost"),
    "no replica at all": ("POST", CHAT, {"json": ask("gone")}, 503, "no_replica"),
    "replica always cuts": ("POST", CHAT, {"json": ask(stub={"cut": "before"})}, 503, "replica_lost"),
    "replica talks garbage": ("POST", CHAT, {"json": ask(stub={"garbage": True})}, 502, "bad_answer"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refusals_are_openai_errors(http: httpx.Client, case: str) -> None:
    """Whatever Envoy refuses by itself, the client reads an OpenAI error with a request id."""
    method, path, options, status, code = REFUSED[case]
    reply = http.request(method, path, **options)
    error = assert_refused(reply, status, code)
    assert len(reply.headers["x-request-id"]) == 36
    assert len(error["message"]) < 400
    assert ("retry-after" in reply.headers) == (status >= 500)


def test_wrong_method_names_the_right_one(http: httpx.Client) -> None:
    """A 405 carries ``allow``."""
    assert (http.get(CHAT).headers["allow"], http.put("/v1/models").headers["allow"]) == ("POST", "GET")


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b"NOT HTTP\r\n\r\n", 400, "http1.codec_error"),
        (b"GET /v1/models HTTP/1.0\r\n\r\n", 426, "upgrade_required"),
        (b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "missing_host_header"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"y" * 40_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 150 + b"\r\n", 431, "headers_too_large"),
    ],
    ids=["garbage", "HTTP/1.0", "no host", "huge header", "many headers"],
)
def test_even_broken_http_gets_an_openai_error(gateway: Gateway, raw: bytes, status: int, code: str) -> None:
    """What Envoy cannot even parse is answered in the same shape."""
    with socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection:
        connection.sendall(raw)
        reply = httpx.Response(status, content=_read_all(connection))
    head, _, body = reply.content.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["error"]["code"] == code


def _read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 503])
def test_errors_of_the_engine_pass_untouched(http: httpx.Client, status: int) -> None:
    """What the engine says is the engine's; only silence is filled by the gateway."""
    reply = http.post(CHAT, json=ask(stub={"status": status, "id": status}))
    assert (reply.status_code, reply.json()) == (status, {"object": "error", "message": "engine says no"})


def test_slow_upload_is_told_so(engine: Engine, tmp_path: Path) -> None:
    """A request that does not arrive whole in time gets 408, not a closed door."""
    with running(routes_to(engine), tmp_path, request_timeout="0.5s") as gateway:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ACME}\r\nContent-Length: 9\r\n"
        with socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection:
            connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n{")
            text = _read_all(connection).decode()
    assert text.startswith("HTTP/1.1 408 ")
    assert '"code":"request_timeout"' in text


def test_full_gateway_refuses_and_stays_observable(engine: Engine, tmp_path: Path) -> None:
    """Out of memory means 503 with a wait, while probes and metrics still answer."""
    with running(replace(routes_to(engine), max_heap_bytes=1), tmp_path) as gateway:
        url = f"{gateway.url}/v1/models"
        assert soon(lambda: WEB.get(url, headers=bearer(ACME)).status_code == 503)
        reply = WEB.get(url, headers=bearer(ACME))
        assert_refused(reply, 503, "overloaded")
        assert reply.headers["retry-after"] == "2"
        assert gateway.ready == 200


def test_a_prompt_of_900_kb_passes(http: httpx.Client, engine: Engine) -> None:
    """Long prompts arrive whole, beyond every default buffer of Envoy."""
    body = json.dumps(ask(pad="x" * 900_000, stub={"id": "long"}))
    assert http.post(CHAT, content=body, headers=JSON).status_code == 200
    assert engine.wishes({"id": "long"})[0]["bytes"] == len(body)


def test_models_are_listed_per_key(gateway: Gateway) -> None:
    """The official client lists and fetches what its key may use, and finds nothing else."""
    acme = openai.OpenAI(api_key=ACME, base_url=f"{gateway.url}/v1", max_retries=0)
    beta = openai.OpenAI(api_key=BETA, base_url=f"{gateway.url}/v1", max_retries=0)
    assert [row.id for row in acme.models.list()] == ["tiny", BIG, "dead", "gone"]
    assert [row.id for row in beta.models.list()] == ["tiny"]
    assert acme.models.retrieve(BIG).id == BIG
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        beta.models.retrieve(BIG)
    with pytest.raises(openai.NotFoundError, match="org/big"):
        beta.chat.completions.create(model=BIG, messages=[{"role": "user", "content": "hi"}])
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="x", base_url=f"{gateway.url}/v1").models.list()
