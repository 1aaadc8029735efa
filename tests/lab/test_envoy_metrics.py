"""The rendered gateway, run by the real Envoy: what it counts, for whom, and what nobody can make it count."""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

from infra.plan.envoy.stats import EDGES_MS
from tests.lab.envoy_client import ACME, BETA, BIG, CHAT, HTTP2_RESET, ask, bearer, http2_data, http2_request
from tests.lab.envoy_process import WEB, Gateway, soon

OUTCOMES = ("rejected", "errors", "cut", "aborted")
RESPONSES = "/v1/responses"


@pytest.fixture(scope="module")
def gateway(hasty: Gateway) -> Gateway:
    """One with little patience, so that timeouts happen within a test."""
    return hasty


def post(gateway: Gateway, key: str = ACME, path: str = CHAT, timeout: float = 20, **body: Any) -> None:
    """Ask, and let whatever happens happen."""
    with suppress(httpx.HTTPError):
        WEB.post(gateway.url + path, json=ask(**body), headers=bearer(key), timeout=timeout)


def leave(gateway: Gateway, **wish: Any) -> None:
    """Begin to read a stream and go away."""
    body = ask(stream=True, stub={"chunks": 20, "gap": 0.1} | wish)
    with WEB.stream("POST", gateway.url + CHAT, json=body, headers=bearer(ACME)) as reply:
        next(reply.iter_lines())


def labels(tenant: str, tier: str, model: str) -> str:
    """Labels as Envoy writes them."""
    return f'{{tenant="{tenant}",tier="{tier}",model="{model}"}}'


TINY, NOBODY = labels("acme", "premium", "tiny"), labels("-", "-", "-")


def counted(gateway: Gateway, who: str, *names: str) -> Counter[str]:
    """Read some counters of one tenant, tier and model."""
    metrics = gateway.metrics()
    names = names or ("requests", *OUTCOMES)
    return Counter({name: int(metrics.get(f"envoy_railwright_{name}{who}", 0)) for name in names})


def ours(gateway: Gateway) -> set[str]:
    """List the series that are ours."""
    return {series for series in gateway.metrics() if series.startswith("envoy_railwright_")}


@pytest.mark.parametrize(
    ("key", "body", "path", "who"),
    [
        (ACME, {}, CHAT, TINY),
        (BETA, {"stream": True}, CHAT, labels("beta", "batch", "tiny")),
        (ACME, {"model": BIG}, "/v1/embeddings", labels("acme", "premium", BIG)),
        (ACME, {"model": "no-such-model"}, CHAT, labels("acme", "premium", "-")),
        (BETA, {"model": BIG}, CHAT, labels("beta", "batch", "-")),
        (ACME, {"pad": "x" * 9_000_000}, CHAT, labels("acme", "premium", "-")),
        ("no-such-key", {}, CHAT, NOBODY),
    ],
    ids=["whole", "stream", "slash", "unknown model", "model of others", "too large", "unknown key"],
)
def test_request_is_counted_for_who_asked(
    gateway: Gateway, key: str, body: dict[str, Any], path: str, who: str
) -> None:
    """Tenant and tier are the key's, the model is the one that was reached; what is not known is a dash."""
    before = counted(gateway, who)
    post(gateway, key, path, **body)
    assert soon(lambda: (counted(gateway, who) - before)["requests"] == 1)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({}, None),
        ({"stream": True}, None),
        ({"stream": True, "path": RESPONSES, "stub": {"undone": True}}, None),
        ({"stub": {"status": 429}}, "rejected"),
        ({"stub": {"status": 400}}, "rejected"),
        ({"stub": {"status": 500}}, "errors"),
        ({"stub": {"cut": "before"}}, "errors"),
        ({"stub": {"delay": 4}}, "errors"),
        ({"stream": True, "stub": {"delay": 4}}, "errors"),
        ({"stream": True, "stub": {"cut": "after"}}, "cut"),
        ({"stream": True, "stub": {"undone": True}}, "cut"),
        ({"stream": True, "stub": {"fails": True}}, "cut"),
        ({"stream": True, "stub": {"chunks": 60, "gap": 0.3}}, "cut"),
        ({"stream": True, "stub": {"chunks": 2, "gap": 9}}, "cut"),
        ({"timeout": 0.5, "stub": {"delay": 2}}, "aborted"),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_each_request_has_one_outcome(gateway: Gateway, body: dict[str, Any], outcome: str | None) -> None:
    """Answered whole, refused, failed, cut by our side, or left by the client: never two of them, never none."""
    before = counted(gateway, TINY)
    post(gateway, **body)
    assert soon(lambda: (counted(gateway, TINY) - before)["requests"] == 1)
    assert counted(gateway, TINY) - before == Counter({"requests": 1} | ({outcome: 1} if outcome else {}))


def test_client_that_closes_its_connection_is_no_error(gateway: Gateway) -> None:
    """Half a stream that the client did not want is the client's, not a cut."""
    before = counted(gateway, TINY)
    leave(gateway)
    assert soon(lambda: counted(gateway, TINY) - before == Counter(requests=1, aborted=1))


def test_client_that_resets_a_stream_of_http2_is_no_error(gateway: Gateway) -> None:
    """HTTP/2 has its own way to leave; it counts alike."""
    before = counted(gateway, TINY)
    body = json.dumps(ask(stream=True, stub={"chunks": 20, "gap": 0.1})).encode()
    with socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection:
        connection.sendall(http2_request("POST", CHAT, ACME, body))
        next(http2_data(connection))
        connection.sendall(HTTP2_RESET)
        assert soon(lambda: counted(gateway, TINY) - before == Counter(requests=1, aborted=1))


def test_first_failure_is_a_step_and_not_a_birth(gateway: Gateway) -> None:
    """Prometheus sees no increase in a series that begins at 1, so each begins at 0 with the first request."""
    post(gateway, BETA)
    series = {f"envoy_railwright_{name}{labels('beta', 'batch', 'tiny')}" for name in OUTCOMES}
    assert soon(lambda: series <= ours(gateway))
    assert {gateway.metrics()[each] for each in series} == {0}


def test_responses_say_code_and_cause(gateway: Gateway) -> None:
    """The same requests once more, by status and by Envoy's flags, for whoever looks for the cause."""
    post(gateway, model="dead")
    who = labels("acme", "premium", "dead").removesuffix("}")
    assert soon(lambda: gateway.metrics().get(f'envoy_railwright_responses{who},code="503",flags="URX,UF"}}', 0) >= 1)


def test_tokens_are_those_of_the_usage(gateway: Gateway) -> None:
    """What streams tell of their tokens adds up; streams that tell nothing add nothing, and coverage can be seen."""
    names = ("metered", "prompt_tokens", "completion_tokens", "requests")
    before = counted(gateway, TINY, *names)
    for usage in ([11, 5], [70_000, 300], None):
        post(gateway, stream=True, stub={"usage": usage})
    post(gateway, path=RESPONSES, stream=True, stub={"usage": [100, 10]})
    want = Counter(metered=3, prompt_tokens=70_111, completion_tokens=315, requests=4)
    assert soon(lambda: counted(gateway, TINY, *names) - before == want)


def test_first_token_is_not_the_headers(gateway: Gateway) -> None:
    """An engine sends headers at once and the first token later; the later one is measured."""
    post(gateway, model=BIG, stream=True, stub={"think": 0.8, "chunks": 1})
    total = f"envoy_railwright_first_token_ms_sum{labels('acme', 'premium', BIG)}"
    assert soon(lambda: gateway.metrics().get(total, 0) > 750)


def test_whole_answers_are_timed_and_others_are_not(gateway: Gateway) -> None:
    """A quick refusal or a cut stream would make the gateway look fast."""
    name = f"envoy_railwright_duration_ms_count{TINY}"
    time.sleep(0.5)
    before = gateway.metrics().get(name, 0)
    for body in ({"stub": {"status": 429}}, {"stream": True, "stub": {"cut": "after"}}, {"stub": {"delay": 0.3}}):
        post(gateway, **body)
    assert soon(lambda: gateway.metrics().get(name, 0) > before)
    assert gateway.metrics()[name] == before + 1


@pytest.mark.parametrize("name", ["duration_ms", "first_token_ms"])
def test_edges_are_those_of_objectives(gateway: Gateway, name: str) -> None:
    """A threshold is only exact on an edge."""
    post(gateway, stream=True)
    bucket = re.compile(rf'envoy_railwright_{name}_bucket{re.escape(TINY[:-1])},le="([^"]+)"}}')
    assert soon(lambda: any(map(bucket.fullmatch, gateway.metrics())))
    found = [match[1] for match in map(bucket.fullmatch, gateway.metrics()) if match]
    assert found == [*map(str, EDGES_MS), "+Inf"]


def in_flight(gateway: Gateway) -> dict[str, float]:
    """Requests that are open: at the door, and at the replicas of a model."""
    metrics = gateway.metrics()
    return {
        "door": metrics['envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="api"}'],
        "tiny": metrics['envoy_cluster_upstream_rq_active{envoy_cluster_name="model/tiny",model="tiny"}'],
    }


def test_in_flight_returns_to_zero(gateway: Gateway) -> None:
    """After a burst with whole, cut and left streams nothing stays counted as open."""
    wishes = [{"chunks": 8, "gap": 0.2}, {"cut": "after"}, {"undone": True}, {"status": 500}]
    with ThreadPoolExecutor(40) as pool:
        for wish in wishes * 6:
            pool.submit(post, gateway, stream=True, stub=wish)
        for _ in range(8):
            pool.submit(leave, gateway)
        assert soon(lambda: min(in_flight(gateway).values()) >= 6)
    assert soon(lambda: in_flight(gateway) == {"door": 0, "tiny": 0})


def test_clients_cannot_make_series(gateway: Gateway) -> None:
    """A thousand made-up models, keys, headers and paths leave as many series as one of each did."""

    def strange(number: int) -> None:
        url, name = gateway.url, f"bogus-{number}"
        headers = bearer(ACME) | {"x-railwright-tenant": name, "x-railwright-client": f"{name}/{name}/{name}/0"}
        WEB.post(url + CHAT, json=ask(name), headers=headers)
        WEB.post(url + CHAT, json=ask(), headers=bearer(name) | {"x-railwright-tenant": name})
        WEB.get(f"{url}/v1/{name}", headers=headers)

    strange(-1)
    assert soon(lambda: counted(gateway, NOBODY)["requests"] > 0)
    series, before = set(gateway.metrics()), counted(gateway, labels("acme", "premium", "-"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(strange, range(1000)))
    assert soon(lambda: (counted(gateway, labels("acme", "premium", "-")) - before)["requests"] == 2000)
    assert set(gateway.metrics()) - series == set()
    assert not [each for each in gateway.metrics() if "bogus" in each]


def test_envoy_has_nothing_to_complain_of(gateway: Gateway) -> None:
    """No request leaves a value that a counter cannot read; Envoy would print an error for each."""
    for raw in (b"NOT HTTP\r\n\r\n", b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection:
            connection.sendall(raw)
            connection.recv(65536)
    leave(gateway)
    post(gateway, timeout=0.2, stub={"delay": 1})
    assert soon(lambda: in_flight(gateway)["door"] == 0)
    assert [line for line in gateway.output().splitlines() if not line.startswith("{")] == []
