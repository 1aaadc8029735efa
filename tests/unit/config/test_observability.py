"""Observability's config: defaults that are safe, and nothing guessed that is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from infra.config.observability import Observability, Promise

STORAGE = {"storage": {"size_gib": 10}}


def test_storage_is_all_that_must_be_said() -> None:
    """Everything else has a default that loses nothing."""
    found = Observability.model_validate(STORAGE)
    assert (found.pace, found.scrape_interval, found.retention) == (1, timedelta(seconds=30), timedelta(days=15))
    assert (found.slo.availability, found.slo.errors_above, found.slo.latency_s) == (0.999, 0.01, 5.0)


def test_nobody_is_told_unasked() -> None:
    """No receiver, and no runbook that answers."""
    found = Observability.model_validate(STORAGE)
    assert not found.alertmanager.receivers
    assert found.alertmanager.runbooks is None


def test_what_is_too_expensive_is_not_guessed() -> None:
    """Only the user knows."""
    assert Observability.model_validate(STORAGE).slo.usd_per_million_tokens is None


def test_monitoring_that_is_off_needs_nothing() -> None:
    """Turning it off is one line."""
    assert not Observability.model_validate({"enabled": False}).enabled


def test_an_existing_prometheus_needs_no_storage() -> None:
    """It has its own."""
    found = Observability.model_validate({"existing": {"labels": {"release": "monitoring"}}})
    assert found.existing is not None
    assert found.existing.namespace == "monitoring"


@pytest.mark.parametrize(
    ("text", "retention"), [("6h", timedelta(hours=6)), ("15d", timedelta(days=15)), ("400d", timedelta(days=400))]
)
def test_a_retention_is_read_as_people_write_it(text: str, retention: timedelta) -> None:
    """In hours or days."""
    assert Observability.model_validate({**STORAGE, "retention": text}).retention == retention


@pytest.mark.parametrize("url", ["https://a.example.com/hook", "http://10.0.0.1:9000", "https://a/b?token_in=query"])
def test_an_address_is_taken_as_it_is(url: str) -> None:
    """With port, path and query."""
    config = {**STORAGE, "alertmanager": {"runbooks": url}}
    assert Observability.model_validate(config).alertmanager.runbooks == url


@pytest.mark.parametrize(
    "change",
    [
        {"alertmanager": {"receivers": {"a": {"url": "https://u:p@a/b"}}}},
        {"alertmanager": {"runbooks_token_secret": {"name": "n", "key": "k"}}},
        {"alertmanager": {"receivers": {"a": {"url": "https://a", "url_secret": {"name": "n", "key": "k"}}}}},
        {"alertmanager": {"receivers": {"a": {"url": "https://a", "severities": []}}}},
        {"alertmanager": {"service": "LoadBalancer"}},
        {"prometheus": {"replicas": 0}},
        {"runbook_base_url": "https://pages.example.com/runbooks/"},
        {"slo": {"availability": 1}},
        {"remote_write": {"url": "https://a", "password_secret": {"name": "n", "key": "k"}}},
        {"existing": {"labels": {}}},
    ],
    ids=[
        "password",
        "token for nobody",
        "two addresses",
        "no severity",
        "load balancer",
        "no replica",
        "slash",
        "perfect",
        "half",
        "blind",
    ],
)
def test_what_cannot_be_meant_is_a_mistake(change: dict[str, Any]) -> None:
    """Told before anything is touched."""
    with pytest.raises(ValidationError):
        Observability.model_validate({**STORAGE, **change})


def test_a_promise_says_only_what_differs() -> None:
    """What a model leaves out comes from the stack."""
    assert Promise(latency_s=10).model_dump(exclude_none=True) == {"latency_s": 10}
