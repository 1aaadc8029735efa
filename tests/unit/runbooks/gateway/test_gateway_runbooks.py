"""The gateway's runbooks: what is said and offered for each fault."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runbooks.engine.discover import load
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, undo
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
    assert tls is not None
    if data is not None:
        world.kube.objects["Secret", "gateway", tls.secret_name] = {"metadata": {}, "data": data}
    assert words in said(world.run(RenewCertificate, tmp_path))


def pair(days: float) -> dict[str, bytes]:
    """A certificate that signs itself and ends in some days, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"gateway for {days:g} days")])
    end = datetime.now(UTC) + timedelta(days=days)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(end - timedelta(days=400)).not_valid_after(end)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    signed = builder.sign(key, hashes.SHA256()).public_bytes(form[0])
    return {"tls.crt": signed, "tls.key": key.private_bytes(*form)}


def with_certificate(days: float) -> tuple[World, tuple[str, str, str]]:
    """A world whose gateway has a certificate that ends in some days, and where its Secret is."""
    world = World()
    tls = world.plan.gateway.gateway.tls
    assert tls is not None
    where = ("Secret", "gateway", tls.secret_name)
    data = {name: base64.b64encode(content).decode() for name, content in pair(days).items()}
    world.kube.objects[where] = {"metadata": {"namespace": "gateway", "name": tls.secret_name}, "data": data}
    return world, where


def files(folder: Path, days: float) -> dict[str, Path]:
    """A new pair in files."""
    named = {"certificate": folder / "new.crt", "key": folder / "new.key"}
    for path, content in zip(named.values(), pair(days).values(), strict=True):
        path.write_bytes(content)
    return named


def test_an_expired_certificate_is_renewed_and_taken_back(tmp_path: Path) -> None:
    """The new pair is in the Secret, the old one is kept beside it, and undo puts it back."""
    world, where = with_certificate(-1)
    old = dict(world.kube.objects[where]["data"])
    result = world.run(RenewCertificate, tmp_path, do="renew", **files(tmp_path, 90), yes=True)
    assert result.exit is Exit.DONE
    assert "expired 24 h ago" in said(result)
    assert world.kube.objects[where]["data"] != old
    undo(result.run_id, load=load, site=Site(runs=tmp_path / "runs", connect=world.connect))
    assert world.kube.objects[where]["data"] == old


def test_no_key_gets_into_the_record(tmp_path: Path) -> None:
    """A journal is read by many."""
    world, _ = with_certificate(-1)
    named = files(tmp_path, 90)
    result = world.run(RenewCertificate, tmp_path, do="renew", **named, yes=True)
    record = "".join(path.read_text() for path in result.folder.rglob("*") if path.is_file())
    assert record
    assert base64.b64encode(named["key"].read_bytes()).decode() not in record
    assert named["key"].read_text().splitlines()[1] not in record


def test_a_new_certificate_that_is_no_better_is_refused(tmp_path: Path) -> None:
    """A pair that has expired too, or files that are not named, before anything is written."""
    world, _ = with_certificate(-1)
    late = world.run(RenewCertificate, tmp_path, do="renew", **files(tmp_path, -2), yes=True)
    none = world.run(RenewCertificate, tmp_path, do="renew", yes=True)
    assert (late.exit, none.exit, world.kube.written) == (Exit.REFUSED, Exit.REFUSED, [])
    assert "expired 2 days ago" in said(late)
    assert "--certificate — is missing" in said(none)
    assert "--key — is missing" in said(none)
