"""The rendered gateway, run by the real Envoy: streams, retries, limits of time, logs and the drain."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from infra.plan.envoy import TEARDOWN, pre_stop_command
from tests.lab.envoy_client import (
    ACME,
    BETA,
    CHAT,
    ask,
    assert_refused,
    bearer,
    http2_data,
    http2_request,
    routes_to,
)
from tests.lab.envoy_process import WEB, Gateway, running, soon
from tests.lab.envoy_stub import Engine


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> openai.OpenAI:
    return openai.OpenAI(api_key=BETA, base_url=f"{gateway.url}/v1", max_retries=0)


def stream(client: openai.OpenAI, **wish: Any) -> tuple[str, Any]:
    """Read one stream with the official client; return its text and the usage it ended with."""
    text, usage = "", None
    options: Any = {"stream_options": {"include_usage": True}} if wish.get("usage") else {}
    messages: Any = [{"role": "user", "content": "secret-prompt"}]
    body = {"stub": wish}
    for chunk in client.chat.completions.create(
        model="tiny", messages=messages, stream=True, extra_body=body, **options
    ):
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        usage = chunk.usage or usage
    return text, usage


def test_official_client_streams_with_usage(client: openai.OpenAI) -> None:
    """Chunks come in order and the usage that the client asked for comes with them."""
    text, usage = stream(client, chunks=5, usage=[7, 3])
    assert (text, usage.total_tokens) == ("01234", 10)


def test_chunks_are_not_held_back(http: httpx.Client) -> None:
    """The first chunk is there long before the last is made."""
    started = time.monotonic()
    with http.stream("POST", CHAT, json=ask(stream=True, stub={"chunks": 4, "gap": 0.4})) as reply:
        lines = reply.iter_lines()
        assert next(lines).startswith("data: ")
        first = time.monotonic() - started
        rest = [line for line in lines if line]
    assert time.monotonic() - started > first + 1
    assert rest[-1] == "data: [DONE]"


def test_32_streams_at_once(client: openai.OpenAI) -> None:
    """Parallel streams neither mix nor wait for each other."""
    started = time.monotonic()
    with ThreadPoolExecutor(32) as pool:
        texts = list(pool.map(lambda n: stream(client, chunks=4, gap=0.5, id=n)[0], range(32)))
    assert texts == ["0123"] * 32
    assert time.monotonic() - started < 32 * 2 / 2, "streams waited for each other"


@pytest.mark.parametrize(
    ("wish", "least"),
    [({"chunks": 60, "gap": 0.3}, 2.4), ({"chunks": 2, "gap": 9}, 0.9), ({"cut": "after", "chunks": 9}, 0.0)],
    ids=["longer than longest_answer", "silent for idle_timeout", "replica lost"],
)
def test_cut_stream_never_looks_finished(hasty: Gateway, engine: Engine, wish: dict[str, Any], least: float) -> None:
    """A stream that ends early ends with an error at the client, and nobody starts it a second time."""
    client = openai.OpenAI(api_key=BETA, base_url=f"{hasty.url}/v1", max_retries=0)
    started = time.monotonic()
    with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
        stream(client, **wish)
    assert least < time.monotonic() - started < 9
    assert len(engine.wishes(wish)) == 1


def test_too_long_an_answer_is_not_asked_for_again(hasty: Gateway, engine: Engine) -> None:
    """Past longest_answer the client reads 504, and the official client, which retries others, leaves it at that."""
    wish = {"delay": 4, "id": "too long"}
    client = openai.OpenAI(api_key=ACME, base_url=f"{hasty.url}/v1", max_retries=2)
    with pytest.raises(openai.InternalServerError, match="longer than 2 s") as refused:
        client.chat.completions.create(model="tiny", messages=[], extra_body={"stub": wish})
    assert refused.value.code == "longest_answer"
    assert len(engine.wishes(wish)) == 1


def test_silent_stream_is_refused_before_its_headers(hasty: Gateway) -> None:
    """A replica that does not even begin a stream within idle_timeout costs a 504."""
    body = ask(stream=True, stub={"delay": 3})
    reply = WEB.post(hasty.url + CHAT, json=body, headers=bearer(ACME))
    assert_refused(reply, 504, "model_timeout")


def test_whole_answers_may_be_silent_longer_than_streams(hasty: Gateway) -> None:
    """Without streaming nothing comes until all is done; the idle timeout of streams must not cut that."""
    reply = WEB.post(hasty.url + CHAT, json=ask(stub={"delay": 1.5}), headers=bearer(ACME))
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("streamed", [False, True])
def test_request_lost_before_its_first_byte_is_asked_again(http: httpx.Client, engine: Engine, streamed: bool) -> None:
    """A replica that drops the connection costs the client nothing, even with a large prompt."""
    wish = {"cut": "once", "id": f"retry-{streamed}"}
    reply = http.post(CHAT, json=ask(stream=streamed, pad="x" * 900_000, stub=wish))
    assert reply.status_code == 200, reply.text
    first, second = engine.wishes(wish)
    assert first["bytes"] == second["bytes"] > 900_000


def test_engine_hears_that_the_client_left(http: httpx.Client, engine: Engine, gateway: Gateway) -> None:
    """An aborted stream is aborted at the replica too, and logged as the client's doing."""
    before = engine.broken_pipes
    with http.stream("POST", CHAT, json=ask(stream=True, stub={"chunks": 20, "gap": 0.1})) as reply:
        next(reply.iter_lines())
    assert soon(lambda: engine.broken_pipes > before)
    assert gateway.log_line(reply.headers["x-request-id"])["flags"] == "DC"


def test_log_line_says_who_what_and_how_long(http: httpx.Client, gateway: Gateway) -> None:
    """One line tells tenant, model, times, bytes and the usage that passed by; never key, prompt or query."""
    body = ask(stream=True, stub={"chunks": 3, "gap": 0.2, "usage": [7, 3]})
    reply = http.post(f"{CHAT}?token=secret-query", json=body)
    line = gateway.log_line(reply.headers["x-request-id"])
    known = {"tenant": "acme", "key": "acme-1", "tier": "premium", "model": "tiny", "stream": True, "status": 200}
    known |= {"method": "POST", "path": CHAT, "flags": "-", "attempts": 1, "prompt_tokens": 7, "completion_tokens": 3}
    assert {name: line[name] for name in known} == known
    assert line["duration_ms"] >= line["first_byte_ms"] + 500
    assert line["bytes_in"] == len(json.dumps(body, separators=(",", ":")).encode())
    assert line["bytes_out"] >= len(reply.content)


def test_log_line_of_a_refusal_names_no_tenant(gateway: Gateway) -> None:
    """A wrong key is logged as nobody's, with Envoy's word for the cause."""
    reply = WEB.post(gateway.url + CHAT, json=ask(), headers=bearer("wrong-key-value"))
    line = gateway.log_line(reply.headers["x-request-id"])
    assert (line["status"], line["tenant"], line["details"]) == (401, None, "unknown_api_key")


def test_secrets_stay_inside(http: httpx.Client, gateway: Gateway) -> None:
    """Keys and prompts are in no log, no process list, no metric, and in no answer of the open port."""
    http.post(CHAT, json=ask(), headers={"x-note": "secret-note"})
    open_port = f"http://127.0.0.1:{gateway.routes.stats_port}"
    metrics = WEB.get(f"{open_port}/stats/prometheus").text
    assert "envoy_http_downstream_rq_total" in metrics
    command = Path(f"/proc/{gateway.process.pid}/cmdline").read_text()
    dump = WEB.get(f"http://127.0.0.1:{gateway.routes.admin_port}/config_dump").text
    for secret in (ACME, BETA, "wrong-key-value", "secret-prompt", "secret-query", "secret-note"):
        assert not any(secret in place for place in (gateway.output(), command, metrics, dump)), secret


@pytest.mark.parametrize("path", ["/config_dump", "/stats", "/clusters", "/", "/ready/../config_dump", "/quitquitquit"])
def test_open_port_shows_nothing_else(gateway: Gateway, path: str) -> None:
    """Only readiness and metrics are reachable, and only to read; the rest of the admin is not there."""
    door = f"http://127.0.0.1:{gateway.routes.stats_port}"
    assert (WEB.get(door + path).status_code, WEB.post(f"{door}/ready").status_code) == (404, 404)


def test_http2_without_tls_is_spoken(gateway: Gateway) -> None:
    """A client with prior knowledge of HTTP/2 gets its answer on the same port."""
    with socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection:
        connection.sendall(http2_request("GET", "/v1/models", ACME))
        assert b'"object": "list"' in b"".join(http2_data(connection))


def test_drain_finishes_open_streams(engine: Engine, tmp_path: Path) -> None:
    """Readiness fails first, requests are still served, then the door closes, and open streams end whole."""
    with running(routes_to(engine), tmp_path) as gateway, ThreadPoolExecutor(1) as pool:
        running_stream = pool.submit(_read_stream, gateway, {"chunks": 16, "gap": 0.5})
        assert soon(lambda: _active(gateway) == 1)
        hook = _start_hook(gateway, pre_stop=3, drain=30)
        assert soon(lambda: gateway.ready == 503)
        late = WEB.post(gateway.url + CHAT, json=ask(), headers=bearer(ACME))
        assert (late.status_code, late.headers["connection"]) == (200, "close")
        assert soon(lambda: not _accepts(gateway))
        assert not running_stream.done()
        assert hook.poll() is None
        assert running_stream.result(timeout=20)[-1] == "data: [DONE]"
        assert hook.wait(timeout=10) == 0
        assert WEB.get(f"http://127.0.0.1:{gateway.routes.stats_port}/stats/prometheus").status_code == 200
        gateway.process.terminate()
        assert gateway.process.wait(timeout=TEARDOWN.total_seconds()) == 0


def test_drain_gives_up_at_its_limit(engine: Engine, tmp_path: Path) -> None:
    """A stream that outlasts the drain does not hold the pod for ever."""
    with running(routes_to(engine), tmp_path) as gateway:
        reader = threading.Thread(target=_read_quietly, args=(gateway, {"chunks": 20, "gap": 0.5}), daemon=True)
        reader.start()
        assert soon(lambda: _active(gateway) == 1)
        started = time.monotonic()
        assert _start_hook(gateway, pre_stop=0.1, drain=2).wait(timeout=20) == 0
        assert time.monotonic() - started >= 2
        assert reader.is_alive()


def test_idle_gateway_leaves_at_once(engine: Engine, tmp_path: Path) -> None:
    """Without open requests the hook takes pre_stop and no longer, and a dead Envoy does not hold it."""
    with running(routes_to(engine), tmp_path) as gateway:
        started = time.monotonic()
        assert _start_hook(gateway, pre_stop=0.2, drain=30).wait(timeout=20) == 0
        assert time.monotonic() - started < 20
        gateway.process.terminate()
        gateway.process.wait(timeout=10)
        assert _start_hook(gateway, pre_stop=0.2, drain=30).wait(timeout=20) != 0


def _start_hook(gateway: Gateway, *, pre_stop: float, drain: float) -> subprocess.Popen[bytes]:
    waits = {"pre_stop": timedelta(seconds=pre_stop), "drain": timedelta(seconds=drain)}
    command = pre_stop_command(admin_port=gateway.routes.admin_port, **waits)
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def _read_stream(gateway: Gateway, wish: dict[str, Any]) -> list[str]:
    body = ask(stream=True, stub=wish)
    reply = WEB.post(gateway.url + CHAT, json=body, headers=bearer(ACME))
    return [line for line in reply.text.splitlines() if line]


def _read_quietly(gateway: Gateway, wish: dict[str, Any]) -> None:
    try:
        _read_stream(gateway, wish)
    except httpx.HTTPError:
        return


def _active(gateway: Gateway) -> int:
    url = f"http://127.0.0.1:{gateway.routes.admin_port}/stats?filter=http.api.downstream_rq_active"
    return int(WEB.get(url).text.rsplit(":", 1)[1])


def _accepts(gateway: Gateway) -> bool:
    try:
        socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=1).close()
    except OSError:
        return False
    return True
