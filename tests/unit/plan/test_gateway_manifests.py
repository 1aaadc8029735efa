"""Kubernetes objects of the gateway: what its pods mount, and how it is reached."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.plan.facts import GatewayPlan
from infra.plan.manifests.gateway import config_text, objects, url
from tests.unit.plan.specs import plan_of

TLS = {"gateway/tls": {"secret_name": "gateway-tls"}}
BOTH = {"gateway/tls": {"secret_name": "gateway-tls", "plain_http": True}}
VALUES = {"team": "0123456789abcdef0123456789abcdef"}


def _gateway(changes: dict[str, Any]) -> GatewayPlan:
    return plan_of(changes).gateway


def _secrets(changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    pod = objects(_gateway(changes), "{}", "digest")["deploy"]["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    return {mounts[volume["name"]]: volume["secret"] for volume in pod["volumes"]}


@pytest.mark.parametrize(("changes", "optional"), [(TLS, False), (BOTH, True)], ids=["https only", "both"])
def test_a_pod_waits_for_a_certificate_that_it_cannot_do_without(changes: dict[str, Any], optional: bool) -> None:
    """Where plain HTTP is served too there is something to do until it comes."""
    certificate = _secrets(changes)["/etc/gateway-tls"]
    assert certificate == {"secretName": "gateway-tls", "optional": optional, "defaultMode": 0o440}


def test_without_tls_no_certificate_is_mounted() -> None:
    """The configuration is all that a pod needs."""
    assert set(_secrets({})) == {"/etc/envoy"}
    assert set(objects(_gateway({}), "{}", "digest")["config"]["stringData"]) == {"envoy.json"}


def test_envoy_finds_its_certificate_where_the_pod_mounts_it() -> None:
    """From the bootstrap to the source file, from there to the mounted Secret."""
    files = objects(_gateway(TLS), "{}", "digest")["config"]["stringData"]
    assert "/etc/envoy/certificate.json" in config_text(plan_of(TLS), VALUES)
    (resource,) = json.loads(files["certificate.json"])["resources"]
    certificate = resource["tls_certificate"]
    assert certificate["certificate_chain"] == {"filename": "/etc/gateway-tls/tls.crt"}
    assert certificate["watched_directory"] == {"path": "/etc/gateway-tls"}


@pytest.mark.parametrize(
    ("changes", "scheme"), [({}, "http"), (TLS, "https"), (BOTH, "http")], ids=["plain", "https only", "both"]
)
def test_address_names_a_protocol_that_is_served(changes: dict[str, Any], scheme: str) -> None:
    """Inside the cluster, where both are served, plain HTTP needs no trust in the certificate."""
    assert url(_gateway(changes)) == f"{scheme}://gateway.gateway.svc:8080/v1"
