"""The gateway's config: defaults that hold together, and mistakes that are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from infra.config.gateway import Gateway

IMAGE = "docker.io/railwright/envoy"


def test_defaults_let_every_answer_finish() -> None:
    """A gateway given nothing but an image drains as long as its longest answer takes."""
    gateway = Gateway(image=IMAGE)
    assert gateway.drain >= gateway.longest_answer > gateway.idle_timeout
    assert gateway.max_request_bytes == 8 * 1024 * 1024


def test_https_is_not_weakened_unasked() -> None:
    """Who names a certificate gets encrypted requests only."""
    gateway = Gateway.model_validate({"image": IMAGE, "tls": {"secret_name": "gateway-tls"}})
    assert gateway.tls is not None
    assert not gateway.tls.plain_http


def test_durations_are_read_as_people_write_them() -> None:
    """``1h30m`` is a duration."""
    gateway = Gateway.model_validate({"image": IMAGE, "longest_answer": "1h30m"})
    assert gateway.longest_answer == timedelta(minutes=90)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"node_port": 30080}, "set NodePort"),
        ({"service": "NodePort", "node_port": 80}, "greater than or equal to 30000"),
        ({"idle_timeout": "11m"}, "idle_timeout is longer than longest_answer"),
        ({"replicas": 0}, "greater than or equal to 1"),
        ({"max_request_mib": 65}, "less than or equal to 64"),
        ({"drain": "soon"}, "not a duration"),
        ({"tls": {}}, "Field required"),
        ({"tls": {"secret_name": "Gateway_TLS"}}, "should match pattern"),
        ({"timeout": "15s"}, "Extra inputs"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_mistakes_are_refused(change: dict[str, Any], says: str) -> None:
    """What cannot work is refused when the stack is read."""
    with pytest.raises(ValidationError, match=says):
        Gateway.model_validate({"image": IMAGE} | change)
