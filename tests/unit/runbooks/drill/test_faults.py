"""Faults hit what they name, and nothing else."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from infra.errors import ConfigError
from runbooks.drills._network import TABLE, rules
from runbooks.drills.expire_certificate import expired
from runbooks.drills.roll_bad_config import BAD, pointed


def test_packets_are_hurt_both_ways_and_in_one_table() -> None:
    """Each rule names both sides, and all of them go with one table."""
    found = rules(["10.9.64.8", "10.9.80.8"], ["10.9.80.9"], "drop")
    assert all(TABLE in one for one in found)
    assert [one.partition(" way ")[2] for one in found if one.startswith("add rule")] == [
        "ip saddr { 10.9.64.8, 10.9.80.8 } ip daddr { 10.9.80.9 } drop",
        "ip saddr { 10.9.80.9 } ip daddr { 10.9.64.8, 10.9.80.8 } drop",
    ]


@pytest.mark.parametrize(
    ("gateways", "engines"),
    [([], ["10.9.80.9"]), (["10.9.64.8"], []), (["10.9.64.8"], [""]), (["10.9.64.8; flush ruleset"], ["10.9.80.9"])],
)
def test_a_side_without_addresses_cuts_nothing(gateways: list[str], engines: list[str]) -> None:
    """A rule that matches everything would cut the whole host off."""
    with pytest.raises(ConfigError):
        rules(gateways, engines, "drop")


def test_the_expired_pair_is_a_pair_and_expired() -> None:
    """Envoy takes it up only if certificate and key belong together; its end is past."""
    pair = {file: base64.b64decode(content) for file, content in expired().items()}
    certificate = x509.load_pem_x509_certificate(pair["tls.crt"])
    assert load_pem_private_key(pair["tls.key"], None).public_key() == certificate.public_key()
    assert timedelta(minutes=59) < datetime.now(UTC) - certificate.not_valid_after_utc < timedelta(minutes=61)


def test_only_the_config_comes_from_elsewhere() -> None:
    """The template given stays as it was: undo puts it back."""
    template = {
        "spec": {
            "volumes": [
                {"name": "config", "secret": {"secretName": "gateway"}},
                {"name": "certificate", "secret": {"secretName": "gateway-tls"}},
                {"name": "tmp", "emptyDir": {}},
            ]
        }
    }
    changed = pointed(template, BAD)
    assert [one.get("secret", {}).get("secretName") for one in changed["spec"]["volumes"]] == [BAD, "gateway-tls", None]
    assert template["spec"]["volumes"][0] == {"name": "config", "secret": {"secretName": "gateway"}}
