"""Certificates are made once, kept while they are good, and renewed in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from lab.cluster import pki
from lab.cluster.identities import AUTHORITIES, identities
from lab.cluster.lab import Lab
from lab.cluster.network import Network

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NETWORK = Network(77)
SIGNED = {identity.name for identity in identities(NETWORK)}
ALL = SIGNED | set(AUTHORITIES)


def lab_in(folder: Path, network: Network = NETWORK) -> Lab:
    return Lab("f2af6c09", folder, folder / ".lab", folder / "bin", network)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab with fresh certificates."""
    made = lab_in(tmp_path)
    pki.ensure(made, NOW)
    return made


def test_first_start_makes_every_certificate(tmp_path: Path) -> None:
    """Authorities, one certificate per identity, and the key that signs account tokens."""
    assert set(pki.ensure(lab_in(tmp_path), NOW)) == ALL | {"service-account"}


def test_good_certificates_are_kept(lab: Lab) -> None:
    """A second start makes nothing."""
    assert pki.ensure(lab, NOW + timedelta(days=300)) == []


def test_certificates_are_renewed_a_month_before_they_end(lab: Lab) -> None:
    """Authorities live longer and stay, so that what trusts them goes on."""
    assert set(pki.ensure(lab, NOW + timedelta(days=340))) == SIGNED


def test_new_authority_renews_what_it_signed(lab: Lab) -> None:
    """A certificate of an authority that is gone would be refused."""
    (lab.pki / "etcd-ca.crt").unlink()
    assert set(pki.ensure(lab, NOW)) == {"etcd-ca", "etcd", "etcd-client"}


@pytest.mark.parametrize("damage", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_damaged_certificate_is_made_again(lab: Lab, damage: bytes) -> None:
    """Half a file, as a full disk leaves it, is no certificate."""
    (lab.pki / "kubelet.crt").write_bytes(damage)
    assert pki.ensure(lab, NOW) == ["kubelet"]


def test_key_of_another_certificate_is_noticed(lab: Lab) -> None:
    """A start cut off between key and certificate leaves two that do not fit."""
    (lab.pki / "kubelet.key").write_bytes((lab.pki / "admin.key").read_bytes())
    assert pki.ensure(lab, NOW) == ["kubelet"]


def test_new_addresses_renew_what_serves_under_them(lab: Lab) -> None:
    """Clients keep their certificates, servers get the new addresses in."""
    moved = lab_in(lab.clone, Network(78))
    serving = {identity.name for identity in identities(moved.network) if identity.ips}
    assert set(pki.ensure(moved, NOW)) == serving


def test_nobody_but_the_owner_reads_anything(lab: Lab) -> None:
    """Keys and certificates are 0600 in a folder of 0700."""
    assert lab.pki.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in lab.pki.iterdir()} == {0o600}


@pytest.mark.parametrize(
    ("name", "node", "address"), [("kubelet", "lab-0", "10.77.0.2"), ("kubelet-1", "lab-1", "10.77.0.3")]
)
def test_kubelet_is_a_node_and_serves_as_one(lab: Lab, name: str, node: str, address: str) -> None:
    """The node authorizer knows a kubelet by its group and name; the API server by its address."""
    certificate = pki.read_certificates(lab.pki)[name]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert certificate.subject.rfc4514_string() == f"CN=system:node:{node},O=system:nodes"
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == [address, "127.0.0.1"]


def test_only_the_administrator_is_above_the_rules() -> None:
    """No part of the lab is in the group that skips authorization."""
    assert [one.name for one in identities(NETWORK) if "system:masters" in one.groups] == ["admin"]
