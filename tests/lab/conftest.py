"""One engine and the gateways in front of it for each module of tests; they start only where a test asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.lab.envoy_client import ACME, bearer, routes_to
from tests.lab.envoy_process import Gateway, running
from tests.lab.envoy_stub import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def gateway(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(routes_to(engine), tmp_path_factory.mktemp("envoy")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def hasty(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with little patience: 2.5 s for an answer, 1 s of silence."""
    routes = replace(routes_to(engine), longest_answer=timedelta(seconds=2.5), idle_timeout=timedelta(seconds=1))
    with running(routes, tmp_path_factory.mktemp("hasty")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def http(gateway: Gateway) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gateway.url, timeout=15, headers=bearer(ACME)) as client:
        yield client
