"""The lab's dashboards as one page: Grafana cannot run in a lab, and its panels can be looked at all the same."""

from __future__ import annotations

import time
from math import ceil
from pathlib import Path

from infra.config.load import from_file
from infra.config.observability import Observability
from infra.errors import ConfigError
from infra.plan.dashboards import BOARDS
from lab import paths, stack_file
from lab.cluster.lab import remembered
from lab.report.answers import every
from lab.report.page import Report, page
from lab.report.prometheus import Prometheus, Window

POINTS = 180
"""Points of a line (count); more than that no picture of this size shows."""


def write(out: Path, minutes: int) -> Report:
    """Write the page, and say what is in it.

    Raises:
        ConfigError: there is nothing to ask or nowhere to write.
        Unknown: Prometheus does not answer.
    """
    if minutes < 1:
        raise ConfigError(f"--minutes — is {minutes} — one minute or more is allowed — choose another")
    report = read(minutes)
    try:
        out.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {out} — cannot be written ({error}) — name a file in a folder of yours") from error
    return report


def read(minutes: int) -> Report:
    """Ask the lab's Prometheus for every panel of every dashboard.

    Raises:
        ConfigError: this lab has no Prometheus.
        Unknown: it does not answer.
    """
    watched = _watched()
    interval = ceil(watched.scrape_interval.total_seconds())
    prometheus = Prometheus(url(watched))
    window = Window.up_to(time.time(), minutes, max(interval, ceil(minutes * 60 / POINTS)))
    return Report(
        f"Prometheus {prometheus.version()} at {prometheus.url}",
        window,
        prometheus.alerts(),
        [(board, list(every(board, prometheus, window, interval))) for board in BOARDS],
    )


def url(watched: Observability) -> str:
    """Where the lab's Prometheus is reached from this machine."""
    network, port = remembered(paths.state_dir()), watched.prometheus.node_port
    if network is None or network.simulated or port is None:
        found = "has no Prometheus here: it was never up, is simulated, or prometheus.node_port is not set"
        raise ConfigError(f"lab — {found} — run `lab up`")
    return f"http://{network.node_ip}:{port}"


def _watched() -> Observability:
    spec = from_file(stack_file.path())
    if spec.stack is None:
        raise ConfigError(*spec.problems)
    watched = spec.stack.observability
    if watched is None or not watched.enabled:
        raise ConfigError("lab — its stack is not watched — add railwright:observability to it and run `pulumi up`")
    return watched
