"""The switch that sheds a tier, in the real Envoy: off by default, set at run time, of one tier only."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from infra.plan.envoy.shed import runtime_key
from tests.lab.envoy_client import ACME, BETA, CHAT, ask, bearer
from tests.lab.envoy_process import Gateway


def turn(gateway: Gateway, tier: str, percent: int) -> None:
    """Set the switch of a tier as the runbook does, through the administration."""
    url = f"http://127.0.0.1:{gateway.routes.admin_port}/runtime_modify?{runtime_key(tier)}={percent}"
    assert httpx.post(url, trust_env=False).status_code == 200


@pytest.fixture
def shedding(gateway: Gateway) -> Iterator[Gateway]:
    turn(gateway, "batch", 100)
    yield gateway
    turn(gateway, "batch", 0)


def counted(gateway: Gateway) -> dict[str, float]:
    """What the gateway counts of the batch tier, whatever the model."""
    found = gateway.metrics().items()
    return {
        kind: sum(v for name, v in found if name.startswith(f"envoy_railwright_{kind}{{") and 'tier="batch"' in name)
        for kind in ("rejected", "errors")
    }


def post(gateway: Gateway, key: str) -> httpx.Response:
    return httpx.post(gateway.url + CHAT, json=ask(), headers=bearer(key), trust_env=False)


def test_no_tier_is_shed_unless_told(gateway: Gateway) -> None:
    """A gateway that nobody told anything serves every tier."""
    assert [post(gateway, key).status_code for key in (ACME, BETA)] == [200, 200]


def test_a_tier_that_is_shed_is_told_to_come_back(shedding: Gateway) -> None:
    """429 in the shape of the OpenAI API, with a time to wait, so that clients' libraries try again."""
    reply = post(shedding, BETA)
    assert (reply.status_code, reply.json()["error"]["code"]) == (429, "tier_shed")
    assert reply.json()["error"]["type"] == "rate_limit_error"
    assert reply.headers["retry-after"]


def test_the_other_tiers_are_served_meanwhile(shedding: Gateway) -> None:
    """Shedding batch leaves premium alone."""
    assert post(shedding, ACME).status_code == 200


def test_shed_requests_count_as_rejected_and_not_as_errors(shedding: Gateway) -> None:
    """What we refuse on purpose must not burn an error budget."""
    before = counted(shedding)
    post(shedding, BETA)
    after = counted(shedding)
    assert {kind: after[kind] - before[kind] for kind in after} == {"rejected": 1, "errors": 0}


def test_half_of_a_tier_may_be_shed(gateway: Gateway) -> None:
    """The switch is a share: at 50 of 100 some of 40 requests pass and some do not."""
    turn(gateway, "batch", 50)
    try:
        seen = {post(gateway, BETA).status_code for _ in range(40)}
    finally:
        turn(gateway, "batch", 0)
    assert seen == {200, 429}


def test_the_administration_tells_the_switch(shedding: Gateway) -> None:
    """What was set can be read back, in the form that the runbook reads."""
    url = f"http://127.0.0.1:{shedding.routes.admin_port}/runtime"
    entry = httpx.get(url, trust_env=False).json()["entries"][runtime_key("batch")]
    assert entry["final_value"] == "100"
