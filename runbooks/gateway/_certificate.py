"""What a certificate says: whose, by whom, until when, and whether a key belongs to it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from infra.errors import ConfigError

SOON = timedelta(days=14)
"""A certificate that ends within this should have been renewed. Source: the alert CertificateExpiring."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The first certificate of a chain."""

    subject: str
    issuer: str
    begins: datetime
    ends: datetime
    fits: bool
    """Whether the key beside it is its own."""

    def judge(self, now: datetime) -> tuple[str, str]:
        """Kind of fault, empty when there is none, and the sentence."""
        who = f"certificate of {self.subject} (by {self.issuer})"
        if not self.fits:
            return "mismatch", f"{who} and its key do not belong together"
        if self.ends <= now:
            return "expired", f"{who} expired {_span(now - self.ends)} ago, at {self.ends:%Y-%m-%d %H:%M} UTC"
        if self.begins > now:
            return "early", f"{who} is not valid before {self.begins:%Y-%m-%d %H:%M} UTC"
        if self.ends - now < SOON:
            return "expiring", f"{who} ends in {_span(self.ends - now)}, at {self.ends:%Y-%m-%d %H:%M} UTC"
        return "", f"{who} is valid until {self.ends:%Y-%m-%d %H:%M} UTC, for {_span(self.ends - now)}"


def read(chain: bytes, key: bytes | None, who: str) -> Certificate:
    """Read a chain, and its key where there is one.

    Raises:
        ConfigError: it is none.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    try:
        first = x509.load_pem_x509_certificates(chain)[0]
        form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        fits = key is None or (
            load_pem_private_key(key, None).public_key().public_bytes(*form) == first.public_key().public_bytes(*form)
        )
    except (ValueError, TypeError, IndexError) as error:
        raise ConfigError(f"{who} — holds no certificate with key in PEM form — put one there") from error
    return Certificate(
        first.subject.rfc4514_string(), first.issuer.rfc4514_string(),
        first.not_valid_before_utc, first.not_valid_after_utc, fits,
    )  # fmt: skip


def of_secret(secret: Mapping[str, Any], who: str) -> Certificate:
    """Read the pair in a Secret of type kubernetes.io/tls."""
    data = secret.get("data") or {}
    return read(base64.b64decode(data.get("tls.crt", "")), base64.b64decode(data.get("tls.key", "")), who)


def _span(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
