"""The gateway's runbooks: what is said and offered for each fault."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.result import Exit
from runbooks.gateway import recover_gateway
from runbooks.gateway._certificate import Certificate
from runbooks.gateway.explain_errors import ExplainErrors
from runbooks.gateway.recover_gateway import RecoverGateway
from runbooks.gateway.renew_certificate import RenewCertificate
from runbooks.lib.prometheus import Sample
from tests.unit.runbooks.fakes import DOOR, Cluster, Prometheus, World, event, offered, pod, said, stamp

STUCK = {"http.api.downstream_rq_active": 3.0, "http.api.downstream_rq_total": 70.0}
BAD_CONFIG = {
    "restartCount": 4,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": stamp(20)}},
}
COMPLAINT = "[critical][main] error initializing config 'envoy.json': unknown field 'typo'"

CASES: dict[str, tuple[World, str, set[str]]] = {
    "bad config": (
        World(Cluster(pods_there=[pod(DOOR, ready=False, **BAD_CONFIG)], logs_there={DOOR: ["x", COMPLAINT]})),
        f"Envoy of pod {DOOR} rejects its configuration: {COMPLAINT}",
        {"replace_pod", "restart", "silence"},
    ),
    "killed": (
        World(Cluster(pods_there=[], ready={"gateway": 0}, events_there=[event("Killing", DOOR, "Stopping")])),
        f"pod gateway/{DOOR} ended (Killing: Stopping)",
        {"restart", "silence"},
    ),
    "in flight": (
        World(stats={DOOR: [STUCK]}),
        f"gateway pod {DOOR} counts 3 requests in flight and gets no new ones",
        {"replace_pod", "silence"},
    ),
    "hung": (World(stats={DOOR: []}), f"gateway pod {DOOR} hangs", {"replace_pod", "silence"}),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fault_of_the_gateway_is_named(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnosis says the fault in words, and offers what helps."""
    monkeypatch.setattr(recover_gateway, "LOOK_SECONDS", 0.0)
    world, words, offers = CASES[case]
    result = world.run(RecoverGateway, tmp_path)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


@pytest.mark.parametrize(
    ("flags", "words", "offers"),
    [
        ("UF,URX", "replicas cannot be reached: connections fail (UF); see serving/explain_errors --model tiny", set()),
        ("UH", "no replica is ready (UH); see serving/explain_errors --model tiny", set()),
        ("OM", "the gateway is out of memory and refuses (OM)", {"shed_tier", "restart"}),
        ("ZZ", "for a reason that has no name here", set()),
    ],
)
def test_flags_of_envoy_become_causes(flags: str, words: str, offers: set[str], tmp_path: Path) -> None:
    """The first flag that has a name tells the cause; what lies behind the gateway is not mended at the gateway."""
    sample = Sample({"model": "tiny", "tenant": "research", "code": "503", "flags": flags}, 12.0)
    world = World(prometheus=Prometheus({"envoy_railwright_responses": [sample]}))
    result = world.run(ExplainErrors, tmp_path)
    assert "12 requests (model tiny, tenant research) ended with 503" in said(result)
    assert words in said(result)
    assert offered(result) == offers | {"silence"}


def test_no_failure_is_said_as_such(tmp_path: Path) -> None:
    """Counters that are there and count nothing are an answer."""
    result = World().run(ExplainErrors, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())
    assert "the gateway failed no request by itself" in said(result)


@pytest.mark.parametrize(
    ("begins", "ends", "fits", "fault", "words"),
    [
        (-90, -1, True, "expired", "expired 24 h ago"),
        (-90, 3, True, "expiring", "ends in 3 days"),
        (-90, 90, True, "", "is valid until"),
        (5, 90, True, "early", "is not valid before"),
        (-90, 90, False, "mismatch", "do not belong together"),
    ],
)
def test_a_certificate_is_judged(begins: int, ends: int, fits: bool, fault: str, words: str) -> None:
    """By its times and its key, in words that name the issuer."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    found = Certificate("CN=gateway", "CN=lab", now + timedelta(days=begins), now + timedelta(days=ends), fits)
    kind, sentence = found.judge(now)
    assert (kind, words in sentence, "by CN=lab" in sentence) == (fault, True, True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "is not there: gateway pods wait for it"),
        ({"tls.crt": base64.b64encode(b"junk").decode(), "tls.key": ""}, "holds no certificate with key in PEM form"),
    ],
)
def test_a_secret_that_cannot_serve_is_named(data: Any, words: str, tmp_path: Path) -> None:
    """A Secret that is missing or empty is found before a client finds it."""
    world = World()
    tls = world.plan.gateway.gateway.tls
    if tls is None:
        pytest.skip("the lab's gateway serves plain HTTP")
    if data is not None:
        world.kube.objects["Secret", "gateway", tls.secret_name] = {"metadata": {}, "data": data}
    assert words in said(world.run(RenewCertificate, tmp_path))
