"""Give the gateway a certificate that has expired."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import CheckError, ConfigError
from infra.plan.manifests.gateway import NAMESPACE
from runbooks.drills._parts import SOON
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects
from runbooks.lib.drill.model import Drill
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

KEPT = "before-drill"
"""Suffix of the Secret that keeps the real pair: the cluster has it already, a journal must not."""

REFRESH = "railwright.dev/refreshed-at"
"""Annotation of a pod whose change makes the kubelet look at its Secrets at once."""


class ExpireCertificate(Drill):
    """Give the gateway a certificate that has expired.

    Clients that speak plain HTTP go on; Envoy serves an expired certificate, and clients over TLS refuse it.
    """

    expects: ClassVar[Expects | None] = Expects("CertificateExpiring", SOON, "gateway/renew_certificate", "expired")
    needs_lab: ClassVar[bool] = True

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The gateway's Secret."""
        tls = clients.of(ctx).plan.gateway.gateway.tls
        if tls is None:
            raise ConfigError("gateway — serves plain HTTP and has no certificate — set gateway.tls to drill this")
        yield Target("secret", tls.secret_name, NAMESPACE)

    def fault(self, ctx: Context) -> str:
        """What has expired."""
        return f"{ctx.targets[0]} holds a certificate that expired an hour ago"

    def inject(self, ctx: Context) -> Outcome:
        """Keep the real pair beside it, and swap it."""
        name = ctx.targets[0].name
        ctx.record(name=name)
        old = clients.of(ctx).kube.get("v1", "Secret", NAMESPACE, name)
        if old is None:
            raise ConfigError(f"secret {NAMESPACE}/{name} — is not there — run gateway/renew_certificate first")
        _put(ctx, f"{name}-{KEPT}", old["data"])
        _put(ctx, name, expired())
        _refresh(ctx)
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Copy the real pair back, then drop the copy; without a copy nothing was swapped, or all is back."""
        name = str(ctx.facts.get("break_it", {}).get("name", ""))
        kube = clients.of(ctx).kube
        kept = kube.get("v1", "Secret", NAMESPACE, f"{name}-{KEPT}") if name else None
        if kept is None:
            return Outcome.ok("the real certificate is in place")
        _put(ctx, name, kept["data"])
        _refresh(ctx)
        if may(ctx, f"delete secret {NAMESPACE}/{name}-{KEPT}"):
            kube.api.send("DELETE", kube.api.path("v1", "Secret", NAMESPACE, f"{name}-{KEPT}"))
        for pod in kube.pods.of_gateway():
            kube.pods.annotate(pod.namespace, pod.name, {REFRESH: None})
        return Outcome.ok("the real certificate is back")


def expired() -> Mapping[str, str]:
    """A pair of which the certificate ended an hour ago, as a Secret holds it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "drill: expired")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now - timedelta(hours=1))
        .sign(key, SHA256())
    )
    pair = {
        "tls.crt": certificate.public_bytes(Encoding.PEM),
        "tls.key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    }
    return {file: base64.b64encode(content).decode() for file, content in pair.items()}


def _put(ctx: Context, name: str, data: Mapping[str, str]) -> None:
    """Create or replace a Secret of type kubernetes.io/tls, and read it back; what is said of it names no content."""
    if not may(ctx, f"write secret {NAMESPACE}/{name}"):
        return
    kube = clients.of(ctx).kube
    if kube.get("v1", "Secret", NAMESPACE, name) is None:
        meta = {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "railwright"}}
        body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta, "data": dict(data)}
        kube.api.send("POST", kube.api.path("v1", "Secret", NAMESPACE), body)
    else:
        kube.patch("v1", "Secret", NAMESPACE, name, {"data": dict(data)})
    found = kube.get("v1", "Secret", NAMESPACE, name)
    if found is None or found["data"] != dict(data):
        raise CheckError(f"secret {NAMESPACE}/{name} — was written and holds something else — see who writes it")


def _refresh(ctx: Context) -> None:
    pods, now = clients.of(ctx).kube.pods, datetime.now(UTC).isoformat()
    for pod in pods.of_gateway():
        pods.annotate(pod.namespace, pod.name, {REFRESH: now})
