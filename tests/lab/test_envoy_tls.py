"""The rendered gateway, run by the real Envoy, with a certificate that comes, changes, and runs out."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra.plan.envoy import Tls, certificate_source
from tests.lab.envoy_client import ACME, CHAT, ask, bearer, routes_to
from tests.lab.envoy_process import WEB, Gateway, running, soon
from tests.lab.envoy_stub import Engine

Pair = tuple[bytes, bytes]


def issue(name: str, days: float) -> Pair:
    """Make a certificate that signs itself and runs out in some days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    end = datetime.now(UTC) + timedelta(days=days)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_after(end)
    certificate = builder.not_valid_before(end - timedelta(days=400)).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem), private


class Mount:
    """A Secret's folder as the kubelet fills it: everything behind one link, which it swaps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._versions = 0
        folder.mkdir()

    def put(self, pair: Pair) -> None:
        """Show another certificate and key at once."""
        self._versions += 1
        data = self.folder / f"..{self._versions}"
        data.mkdir()
        for file, content in zip(("tls.crt", "tls.key"), pair, strict=True):
            (data / file).write_bytes(content)
            with suppress(FileExistsError):
                (self.folder / file).symlink_to(f"..data/{file}")
        (self.folder / "..data_tmp").symlink_to(data.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")


@pytest.fixture
def mount(tmp_path: Path) -> Mount:
    return Mount(tmp_path / "tls")


@contextmanager
def serving(engine: Engine, mount: Mount, *, plain_http: bool) -> Iterator[Gateway]:
    """Run a gateway that takes its certificate from a folder."""
    source = mount.folder.parent / "certificate.json"
    source.write_text(json.dumps(certificate_source(str(mount.folder))))
    with running(replace(routes_to(engine), tls=Tls(str(source), plain_http)), mount.folder.parent) as gateway:
        yield gateway


@contextmanager
def secured(gateway: Gateway, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    """Open one encrypted connection; who the certificate is for does not matter here."""
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", gateway.routes.port), timeout=5) as connection,
        context.wrap_socket(connection) as wrapped,
    ):
        yield wrapped


def shown(gateway: Gateway, *protocols: str) -> tuple[str, str | None]:
    """Name of the certificate that the gateway shows and the protocol it agrees to; empty when it shows none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(list(protocols or ("http/1.1",)))
    try:
        with secured(gateway, context) as connection:
            certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
            return certificate.subject.rfc4514_string().removeprefix("CN="), connection.selected_alpn_protocol()
    except OSError:
        return "", None


def days_left(gateway: Gateway) -> float:
    """Days until the certificate runs out, as an alert would compute it."""
    (end,) = (
        value
        for series, value in gateway.metrics().items()
        if series.startswith("envoy_listener_ssl_certificate_expiration_unix_time_seconds")
        and 'envoy_tls_certificate="gateway"' in series
    )
    return (end - datetime.now(UTC).timestamp()) / 86400


def speaks_plainly(gateway: Gateway) -> bool:
    """Tell whether a request without encryption is answered."""
    with suppress(Exception):
        return WEB.post(gateway.url + CHAT, json=ask(), headers=bearer(ACME)).status_code == 200
    return False


@pytest.mark.parametrize("plain_http", [False, True])
def test_plain_http_is_spoken_only_where_asked_for(engine: Engine, mount: Mount, plain_http: bool) -> None:
    """Keys do not travel in the open by mistake."""
    mount.put(issue("one", 200))
    with serving(engine, mount, plain_http=plain_http) as gateway:
        assert shown(gateway)[0] == "one"
        assert speaks_plainly(gateway) == plain_http


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_both_versions_of_http_are_agreed_on(engine: Engine, mount: Mount, protocol: str) -> None:
    """A client gets the one it asks for."""
    mount.put(issue("one", 200))
    with serving(engine, mount, plain_http=False) as gateway:
        assert shown(gateway, protocol) == ("one", protocol)


def test_client_that_trusts_the_certificate_gets_its_answer(engine: Engine, mount: Mount) -> None:
    """The whole way, encrypted: key, body and answer."""
    mount.put(issue("one", 200))
    context = ssl.create_default_context(cafile=str(mount.folder / "tls.crt"))
    with serving(engine, mount, plain_http=False) as gateway, secured(gateway, context) as connection:
        connection.sendall(f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ACME}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_renewed_certificate_is_used_at_once(engine: Engine, mount: Mount) -> None:
    """The kubelet swaps the files; new connections get the new one, and the metric follows."""
    mount.put(issue("one", 20))
    with serving(engine, mount, plain_http=False) as gateway:
        assert days_left(gateway) == pytest.approx(20, abs=0.01)
        mount.put(issue("two", 300))
        assert soon(lambda: shown(gateway)[0] == "two")
        assert soon(lambda: days_left(gateway) == pytest.approx(300, abs=0.01))


def test_expired_certificate_shows_in_the_metrics(engine: Engine, mount: Mount) -> None:
    """Envoy goes on to serve it, clients refuse it, and the series says since when."""
    mount.put(issue("old", -3))
    with serving(engine, mount, plain_http=False) as gateway:
        assert shown(gateway)[0] == "old"
        assert days_left(gateway) == pytest.approx(-3, abs=0.01)
        assert gateway.metrics()["envoy_server_days_until_first_cert_expiring{}"] == 0


def test_half_renewed_certificate_is_left_alone(engine: Engine, mount: Mount) -> None:
    """A key that does not fit is counted, and the old pair goes on being served."""
    mount.put(issue("one", 200))
    with serving(engine, mount, plain_http=False) as gateway:
        mount.put((issue("two", 200)[0], issue("three", 200)[1]))
        failed = 'envoy_sds_key_rotation_failed{envoy_xds_resource_name="gateway"}'
        assert soon(lambda: gateway.metrics().get(failed, 0) == 1)
        assert shown(gateway)[0] == "one"


def test_gateway_that_may_speak_plainly_starts_without_a_certificate(engine: Engine, mount: Mount) -> None:
    """Its pods need not wait for whoever issues it; once there, it is used."""
    with serving(engine, mount, plain_http=True) as gateway:
        assert speaks_plainly(gateway)
        assert shown(gateway)[0] == ""
        mount.put(issue("one", 200))
        assert soon(lambda: shown(gateway)[0] == "one")


def test_without_tls_no_certificate_runs_out(gateway: Gateway) -> None:
    """The number of days is the largest there is, so that no alert on few days can fire."""
    assert gateway.metrics()["envoy_server_days_until_first_cert_expiring{}"] == 2**32 - 1
