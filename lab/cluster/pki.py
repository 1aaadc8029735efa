"""Keys and certificates of one lab: made once, kept, renewed before they run out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lab.cluster.identities import AUTHORITIES, Identity, identities
from lab.cluster.lab import Lab, replace

CERTIFICATE_LIFE = timedelta(days=365)
"""How long a certificate is valid."""

AUTHORITY_LIFE = timedelta(days=3650)
"""How long an authority is valid; renewing one renews everything it signed."""

RENEW_BEFORE = timedelta(days=30)
"""A start renews what has less time left than this."""

CLOCK_SLACK = timedelta(minutes=5)
"""Certificates begin this much early, for clocks that jump back a little."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure(lab: Lab, now: datetime) -> list[str]:
    """Make or renew what is missing, wrong or running out.

    Returns:
        Names of the certificates that are new; empty when all were good.
    """
    lab.pki.mkdir(parents=True, exist_ok=True)
    lab.pki.chmod(0o700)
    made: list[str] = []
    signers: dict[str, Pair] = {}
    for name in AUTHORITIES:
        pair = _load(lab.pki, name)
        if pair is None or is_running_out(pair.certificate, now):
            pair = _authority(f"railwright-{lab.lab_id}-{name}", now)
            _save(lab.pki, name, pair)
            made.append(name)
        signers[name] = pair
    for identity in identities(lab.network):
        pair = _load(lab.pki, identity.name)
        signer = signers[identity.authority]
        if pair is None or is_running_out(pair.certificate, now) or not _is_for(pair.certificate, identity, signer):
            _save(lab.pki, identity.name, _issue(identity, signer, now))
            made.append(identity.name)
    if not (lab.pki / "service-account.key").exists():
        _save_account_key(lab.pki)
        made.append("service-account")
    return made


def is_running_out(certificate: x509.Certificate, now: datetime) -> bool:
    """True when a start should renew it."""
    return certificate.not_valid_after_utc - now < RENEW_BEFORE or certificate.not_valid_before_utc > now


def read_certificates(folder: Path) -> dict[str, x509.Certificate]:
    """Every certificate of a lab by name; files that cannot be read are left out."""
    found = {}
    for path in sorted(folder.glob("*.crt")):
        try:
            found[path.stem] = x509.load_pem_x509_certificate(path.read_bytes())
        except ValueError:
            continue
    return found


def _load(folder: Path, name: str) -> Pair | None:
    try:
        certificate = x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
        key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), password=None)
    except (OSError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        return None
    return Pair(certificate, key)


def _save(folder: Path, name: str, pair: Pair) -> None:
    replace(folder / f"{name}.key", _private_pem(pair.key))
    replace(folder / f"{name}.crt", pair.certificate.public_bytes(serialization.Encoding.PEM).decode())


def _private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _save_account_key(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    replace(folder / "service-account.pub", public.decode())
    replace(folder / "service-account.key", _private_pem(key))


def _subject(common_name: str, groups: Iterable[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _names(identity: Identity) -> list[x509.GeneralName]:
    return [*(x509.DNSName(name) for name in identity.dns), *(x509.IPAddress(ip_address(ip)) for ip in identity.ips)]


def _is_for(certificate: x509.Certificate, identity: Identity, signer: Pair) -> bool:
    """True when the certificate says what the identity says and was signed by this very authority."""
    try:
        certificate.verify_directly_issued_by(signer.certificate)
        names = list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        names = []
    except Exception:  # the library raises several unrelated types here; each means "not ours"
        return False
    return certificate.subject == _subject(identity.common_name, identity.groups) and names == _names(identity)


def _builder(subject: x509.Name, issuer: x509.Name, now: datetime, life: timedelta) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now + life)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(common_name: str, now: datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(common_name)
    builder = _builder(subject, subject, now, AUTHORITY_LIFE).public_key(key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def _issue(identity: Identity, signer: Pair, now: datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(identity.common_name, identity.groups)
    builder = _builder(subject, signer.certificate.subject, now, CERTIFICATE_LIFE).public_key(key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH] if identity.calls else []
    if names := _names(identity):
        uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    authority_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = builder.add_extension(authority_key, critical=False)
    return Pair(builder.sign(signer.key, hashes.SHA256()), key)
