"""Find which certificate ends or has ended, and put a new one in its place."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from infra.errors import CheckError, ConfigError
from infra.plan.manifests.gateway import NAMESPACE
from runbooks.engine.model import Outcome, Target, step
from runbooks.gateway._certificate import Certificate, of_secret, read
from runbooks.lib import clients
from runbooks.lib.diagnosis import Background, Finding, given, told
from runbooks.lib.mitigations import Remedy, Silence, SilenceInputs
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

REFRESH = "railwright.dev/refreshed-at"
"""Annotation whose change makes the kubelet look at a pod's Secrets at once."""

BEFORE = "before"
"""Suffix of the Secret that keeps the pair of before; a journal must hold no key."""


class RenewCertificate(Background, Silence, Remedy):
    """Renew the gateway's certificate under running Envoys, or name the other certificate that ends.

    Files are given by hand; a Secret that an issuer such as cert-manager keeps is left to it.
    """

    answers = ("CertificateExpiring",)
    owner = "gateway"
    lock = "{stack}/gateway"
    risk = "clients that do not trust the issuer of the new certificate are locked out"

    class Inputs(SilenceInputs):
        """The new pair, where it is to be put in place."""

        pod: str = Field(default="", description="gateway pod that the alert names; all of them use one certificate")
        job: str = Field(default="", description="apiserver: clients of the API server are meant, not the gateway")
        certificate: Path | None = Field(default=None, description="file with the new chain, in PEM form")
        key: Path | None = Field(default=None, description="file with its key, in PEM form")
        do: Literal["nothing", "renew", "silence"] = "nothing"

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The Secret of the gateway, if it has one."""
        name = _name(ctx)
        return [Target("secret", name, NAMESPACE)] if name else []

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """There must be TLS, no other keeper of the Secret, and a pair that fits and is valid."""
        yield from super().against(ctx, do)
        if do != "renew":
            return
        if not _name(ctx):
            yield "gateway — serves plain HTTP, so it has no certificate — set gateway.tls in the stack file"
            return
        secret = _secret(ctx) or {"metadata": {}}
        keeper = next(
            (key for key in secret["metadata"].get("annotations", {}) if key.startswith("cert-manager.io/")), ""
        )
        if keeper:
            yield f"secret {NAMESPACE}/{_name(ctx)} — is kept by its issuer ({keeper}) — renew it there: cmctl renew"
        # Asked for an offer as well, when nobody has named files yet.
        if given(ctx).do == "renew":
            yield from _pair_problems(ctx)

    @step("which certificate ends when", writes=False)
    def look(self, ctx: Context) -> Outcome:
        """Read the gateway's Secret, or the certificate with which this clone asks the API server."""
        if given(ctx).job == "apiserver":
            found = _of_client(ctx)
            who = "client of the API server"
        elif not _name(ctx):
            return told([Finding("plain", "the gateway serves plain HTTP and has no certificate")], "")
        else:
            secret = _secret(ctx)
            who = f"secret {NAMESPACE}/{_name(ctx)}"
            if secret is None:
                return told([Finding("missing", f"{who} is not there: gateway pods wait for it", None, ("renew",))], "")
            found = of_secret(secret, who)
        fault, said = found.judge(datetime.now(UTC))
        offers = () if given(ctx).job == "apiserver" else ("renew",)
        return told([Finding(fault, f"{who}: {said}", None, offers)] if fault else [], f"{who}: {said}")

    @step("see that a new certificate helps", writes=False, only="renew")
    def renew_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if the one in place is well."""
        return self.fit(ctx, "renew")

    @step("put the new certificate in place", only="renew", undo="old_certificate", timeout=timedelta(minutes=3))
    def renew(self, ctx: Context) -> Outcome:
        """Keep the old pair in a Secret beside it, write the new one, and have every gateway pod read it."""
        name, data = _name(ctx), _new_data(ctx)
        old = _secret(ctx)
        kept = f"{name}-{BEFORE}" if old is not None else ""
        ctx.record(renewed={"name": name, "kept": kept})
        if old is not None:
            _put(ctx, kept, old["data"])
        _put(ctx, name, data)
        _refresh(ctx)
        judged = read(base64.b64decode(data["tls.crt"]), None, name).judge(datetime.now(UTC))[1]
        return Outcome.ok(f"{judged}; the old pair is kept in secret {NAMESPACE}/{kept}" if kept else judged)

    def old_certificate(self, ctx: Context) -> Outcome:
        """Put the old certificate back."""
        facts = ctx.facts.get("renew", {}).get("renewed")
        if not facts or not facts["kept"]:
            return Outcome.ok("no certificate was replaced")
        kept = clients.of(ctx).kube.get("v1", "Secret", NAMESPACE, facts["kept"])
        if kept is not None:
            _put(ctx, facts["name"], kept["data"])
            _refresh(ctx)
        return Outcome.ok(f"secret {NAMESPACE}/{facts['name']} has its old certificate")


def _name(ctx: Context) -> str:
    """Name of the gateway's Secret; empty when it serves plain HTTP."""
    tls = clients.of(ctx).plan.gateway.gateway.tls
    return tls.secret_name if tls is not None else ""


def _secret(ctx: Context) -> Mapping[str, Any] | None:
    return clients.of(ctx).kube.get("v1", "Secret", NAMESPACE, _name(ctx))


def _new_data(ctx: Context) -> dict[str, str]:
    """The new pair as a Secret holds it.

    Raises:
        ConfigError: a file is not named or cannot be read.
    """
    files = {"tls.crt": given(ctx).certificate, "tls.key": given(ctx).key}
    missing = [
        flag for flag, file in (("--certificate", files["tls.crt"]), ("--key", files["tls.key"])) if file is None
    ]
    if missing:
        raise ConfigError(
            *(f"{flag} — is missing — the new pair is wanted — name a file in PEM form" for flag in missing)
        )
    try:
        return {name: base64.b64encode(file.read_bytes()).decode() for name, file in files.items()}
    except OSError as error:
        raise ConfigError(f"{error.filename} — cannot be read ({error.strerror}) — name a file in PEM form") from error


def _pair_problems(ctx: Context) -> Iterator[str]:
    try:
        data = _new_data(ctx)
        found = read(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]), "the new pair")
    except ConfigError as error:
        yield from error.problems
        return
    fault, said = found.judge(datetime.now(UTC))
    if fault in ("mismatch", "expired", "early"):
        yield f"the new pair — {said} — give one that is valid"


def _of_client(ctx: Context) -> Certificate:
    """The certificate with which this clone asks the API server."""
    import yaml

    path = clients.of(ctx).stack.kubeconfig
    content = yaml.safe_load(path.read_text())
    context = next(one["context"] for one in content["contexts"] if one["name"] == content["current-context"])
    user = next(one["user"] for one in content["users"] if one["name"] == context["user"])
    if "client-certificate-data" in user:
        return read(base64.b64decode(user["client-certificate-data"]), None, str(path))
    if "client-certificate" in user:
        return read((path.parent / user["client-certificate"]).read_bytes(), None, str(path))
    raise ConfigError(
        f"{path} — its user has no client certificate — look at the clients that the API server's audit names"
    )


def _put(ctx: Context, name: str, data: Mapping[str, str]) -> None:
    """Create or replace a Secret of type kubernetes.io/tls, and read it back."""
    kube = clients.of(ctx).kube
    if not may(ctx, f"write certificate and key to secret {NAMESPACE}/{name}"):
        return
    if kube.get("v1", "Secret", NAMESPACE, name) is None:
        body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                "metadata": {"name": name, "namespace": NAMESPACE}, "data": dict(data)}  # fmt: skip
        kube.api.send("POST", kube.api.path("v1", "Secret", NAMESPACE), body)
    else:
        kube.patch("v1", "Secret", NAMESPACE, name, {"data": dict(data)})
    found = kube.get("v1", "Secret", NAMESPACE, name)
    if found is None or any(found["data"].get(key) != value for key, value in data.items()):
        raise CheckError(f"secret {NAMESPACE}/{name} — was written and holds something else — see who writes it")


def _refresh(ctx: Context) -> None:
    """Have the kubelet refresh the files of every gateway pod now, instead of within a minute."""
    kube, now = clients.of(ctx).kube, datetime.now(UTC).isoformat()
    for pod in kube.pods.of_gateway():
        kube.pods.annotate(pod.namespace, pod.name, {REFRESH: now})
