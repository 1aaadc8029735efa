"""The rendered gateway, as data: what must be in it whatever the routes are."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.plan.envoy import ClientKey, GatewayRoutes, Tls, Upstream, pre_stop_command, render
from infra.plan.envoy.replies import REFUSALS
from infra.plan.envoy.routes import NAMESPACE

GOLDEN = Path(__file__).parents[2] / "graph" / "golden" / "envoy-two-tenants.yaml"
ROUTES = GatewayRoutes(
    models=(Upstream("tiny", "tiny.models.svc.cluster.local.", 8000), Upstream("big", "big.models.svc.", 8000)),
    keys=(
        ClientKey("acme-1", "acme", "premium", "example-value-of-acme-not-a-secret"),
        ClientKey("beta-1", "beta", "batch", "example-value-of-beta-not-a-secret", ("tiny",)),
    ),
    longest_answer=timedelta(minutes=10),
    idle_timeout=timedelta(minutes=2),
)


def test_render_is_as_reviewed() -> None:
    """Any change of the bootstrap shows in review: write the new text to the golden file when it is meant."""
    text = yaml.safe_dump(render(ROUTES), sort_keys=False, width=120)
    assert text == GOLDEN.read_text(encoding="utf-8"), f"differs from {GOLDEN.name}"


def test_render_is_json_and_stable() -> None:
    """Equal routes give equal bytes, so that pods roll only for a reason."""
    assert json.dumps(render(ROUTES)) == json.dumps(render(replace(ROUTES)))


def test_value_of_a_key_is_in_one_place_only() -> None:
    """The value is a credential and nothing else; it is in no ``repr``."""
    value = ROUTES.keys[0].value
    assert json.dumps(render(ROUTES)).count(value) == 1
    assert value not in repr(ROUTES)


def test_routes_do_not_grow_with_keys() -> None:
    """A thousand keys with equal rights cost a thousand credentials and not one more route."""
    many = tuple(ClientKey(f"k{n}", "acme", "batch", f"{n:040d}") for n in range(1000))
    one, thousand = (replace(ROUTES, keys=keys) for keys in (many[:1], many))
    assert _table(one) == _table(thousand)


def test_model_that_no_key_opens_has_no_route() -> None:
    """What nobody may use cannot be reached by mistake."""
    assert "model/big" in json.dumps(_table(ROUTES))
    assert "model/big" not in json.dumps(_table(replace(ROUTES, keys=ROUTES.keys[1:])))


def test_admin_listens_inside_the_pod_only() -> None:
    """Administration shows keys' ids and ends the process; it is bound to loopback."""
    address = render(ROUTES)["admin"]["address"]["socket_address"]
    assert address == {"address": "127.0.0.1", "port_value": 9901}


def test_no_route_has_a_total_timeout_and_streams_have_an_idle_one() -> None:
    """Envoy's default of 15 s would cut streams with status 200; whole answers may be silent, streams not."""
    actions = {route["name"]: route["route"] for route in _table(ROUTES) if "route" in route}
    assert {action["timeout"] for action in actions.values()} == {"0s"}
    assert {action["max_stream_duration"]["max_stream_duration"] for action in actions.values()} == {"600s"}
    assert actions["model/tiny/stream"]["idle_timeout"] == "120s"
    assert actions["model/tiny"]["idle_timeout"] == "600s"


def test_last_route_refuses() -> None:
    """No request passes unrouted: the end of the table is a refusal for every path."""
    last = _table(ROUTES)[-1]
    assert (last["match"], last["direct_response"]["status"]) == ({"prefix": "/"}, 404)


def test_every_refusal_has_an_openai_body() -> None:
    """All statuses that Envoy answers by itself are mapped, the plain ones after their special causes."""
    mappers = _manager()["local_reply_config"]["mappers"]
    mapped = [mapper["body_format_override"]["json_format"]["error"] for mapper in mappers]
    assert all(error.keys() == {"message", "type", "param", "code"} for error in mapped)
    assert {401, 403, 408, 413, 426, 429, 431, 500, 502, 503, 504} == {row.status for row in REFUSALS}
    bare = [row.status for row in REFUSALS if not (row.flags or row.details)]
    special = [row.status for row in REFUSALS if row.flags or row.details]
    assert set(special) <= set(bare)
    assert len(bare) == len(set(bare))


def test_percent_signs_are_not_read_as_commands() -> None:
    """A percent sign in a model's name stays one, where Envoy would look for a command."""
    odd = replace(ROUTES, models=(Upstream("half%20", "x.", 1),))
    assert "half%%20" in json.dumps([route for route in _table(odd) if route["name"] == "models"])


@pytest.mark.parametrize("name", ["model/tiny", "model/big"])
def test_replicas_are_balanced_one_by_one(name: str) -> None:
    """Envoy sees each replica behind the headless name; a full scan would defeat retries on another replica."""
    cluster = next(each for each in render(ROUTES)["static_resources"]["clusters"] if each["name"] == name)
    assert cluster["cluster_type"]["name"] == "envoy.clusters.dns"
    policy = cluster["load_balancing_policy"]["policies"][0]["typed_extension_config"]
    assert "selection_method" not in policy["typed_config"]


def test_pre_stop_hook_needs_bash_alone() -> None:
    """The hook runs in a stock Envoy image: the waits are arguments, the script has no placeholders left."""
    waits = {"pre_stop": timedelta(seconds=10), "drain": timedelta(minutes=10)}
    shell, flag, script, *rest = pre_stop_command(admin_port=9901, **waits)
    assert (shell, flag, rest) == ("bash", "-c", ["drain", "9901", "10", "600"])
    assert not any(word in script for word in ("PREFIX", "curl", "python", "wget"))


def test_no_label_is_the_word_of_a_client() -> None:
    """Tags come from the key, from the route that was taken and from Envoy: what a client sends makes no series."""
    tags = {tag["name"]: tag["value_format"] for stat in _stats() for tag in stat["tags"]}
    assert set(tags) == {"tenant", "tier", "model", "code", "flags"}
    assert (tags["code"], tags["flags"]) == ("%RESPONSE_CODE%", "%RESPONSE_FLAGS%")
    assert f'"DYNAMIC_METADATA", "param": "{NAMESPACE}:tenant"' in tags["tenant"]
    assert f'"DYNAMIC_METADATA", "param": "{NAMESPACE}:tier"' in tags["tier"]
    assert f'"METADATA", "param": "ROUTE:{NAMESPACE}:model"' in tags["model"]


def test_every_name_is_counted_for_somebody() -> None:
    """Each of our metrics says tenant, tier and model, so that any two can be divided."""
    names = [stat["name"] for stat in _stats()]
    assert len(names) == len(set(names))
    assert {tuple(tag["name"] for tag in stat["tags"])[:3] for stat in _stats()} == {("tenant", "tier", "model")}


@pytest.mark.parametrize("plain_http", [False, True])
def test_plain_chain_exists_only_where_asked_for(plain_http: bool) -> None:
    """With a certificate alone, no chain is left that would answer in the open."""
    listener = render(replace(ROUTES, tls=Tls("/certificate.json", plain_http)))["static_resources"]["listeners"][0]
    plain = [chain for chain in listener["filter_chains"] if "transport_socket" not in chain]
    assert len(plain) == plain_http


def _manager(routes: GatewayRoutes = ROUTES) -> dict[str, Any]:
    listener = render(routes)["static_resources"]["listeners"][0]
    return dict(listener["filter_chains"][0]["filters"][0]["typed_config"])


def _stats() -> list[dict[str, Any]]:
    """List each metric that the access log writes, with its tags."""
    loggers = [entry["typed_config"] for entry in _manager()["access_log"] if entry["name"].endswith(".stats")]
    return [item["stat"] for entry in loggers for kind in ("counters", "histograms") for item in entry.get(kind, [])]


def _table(routes: GatewayRoutes) -> list[dict[str, Any]]:
    return list(_manager(routes)["route_config"]["virtual_hosts"][0]["routes"])
