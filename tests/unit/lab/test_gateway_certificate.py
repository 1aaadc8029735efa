"""The lab's gateway gets its certificate from the stack's name and the lab's own files."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from lab import gateway_certificate, paths, stack_file


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack that asks for a certificate, and a lab that has made one."""
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "gateway.crt").write_bytes(b"certificate")
    (tmp_path / "pki" / "gateway.key").write_bytes(b"key")
    monkeypatch.setattr(paths, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(
        stack_file, "section", lambda name: {"tls": {"secret_name": "door"}} if name == "gateway" else {}
    )
    return tmp_path


@pytest.mark.usefixtures("asked")
def test_the_secret_has_the_name_that_the_stack_asks_for() -> None:
    """Type and keys are those that Kubernetes and Envoy expect."""
    secret = gateway_certificate.secret()
    assert (secret["metadata"]["name"], secret["type"]) == ("door", "kubernetes.io/tls")
    assert base64.b64decode(secret["data"]["tls.crt"]) == b"certificate"
    assert base64.b64decode(secret["data"]["tls.key"]) == b"key"


def test_a_stack_with_plain_http_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and the step says so."""
    monkeypatch.setattr(stack_file, "section", lambda name: {})
    assert gateway_certificate.apply(lambda said: None) == "not asked for"
