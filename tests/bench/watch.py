"""What watching and running runbooks costs: start of the engine, load of the driver, scrapes and rules of a fleet."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from lab import paths
from lab.cluster import lab

Timing = tuple[float, str]
"""Seconds, and what one should know about them."""

SETTLE_SECONDS = 120
"""How long a fleet of another size is watched before its cost is read (s)."""


def engine_start() -> Timing:
    """``runbook show``: everything a run needs before its first step but the clients; median of five."""
    runbook = str(Path(sys.executable).with_name("runbook"))
    times = []
    for _ in range(5):
        start = time.monotonic()
        subprocess.run([runbook, "show", "serving/recover_engine"], check=True, capture_output=True)
        times.append(time.monotonic() - start)
    return statistics.median(times), f"median of 5, from {min(times):.2f} to {max(times):.2f}"


def watch_fleet(hosts: int) -> Timing:
    """CPU seconds per second of Prometheus while one simulated pool has so many hosts; the pool is put back."""
    with pool_of("b300", hosts):
        time.sleep(SETTLE_SECONDS)
        cores = value("rate(process_cpu_seconds_total{job='prometheus'}[1m])")
        scrape = value("max(scrape_duration_seconds{job='fleet'})")
        series = value("sum(scrape_samples_scraped{job='fleet'})")
        # Groups run side by side: one falls behind when it alone takes longer than the time between two evaluations.
        rules = value("sum(prometheus_rule_group_last_duration_seconds)")
        longest = value("max(max_over_time(prometheus_rule_group_last_duration_seconds[1m]))")
        missed = value("sum(increase(prometheus_rule_group_iterations_missed_total[1m]))")
        every = value("max(prometheus_rule_group_interval_seconds)")
    said = (
        f"scrape of {series:.0f} samples {scrape:.2f} s, all rules {rules:.2f} s of every {every:.0f} s, "
        f"longest group {longest:.2f} s, {missed:.0f} evaluations missed"
    )
    return cores, f"cores; {said}"


def value(query: str) -> float:
    """One figure from the lab's Prometheus."""
    if (network := lab.remembered(paths.state_dir())) is None:
        raise SystemExit("no lab has lived in this clone; `lab up` starts one")
    url = f"http://{network.node_ip}:30090/api/v1/query"
    result = httpx.get(url, params={"query": query}).raise_for_status().json()["data"]["result"]
    if not result:
        raise SystemExit(f"Prometheus has no data for {query}")
    return float(result[0]["value"][1])


@contextmanager
def pool_of(pool: str, hosts: int) -> Iterator[None]:
    """A simulated pool of another size."""
    before = json.loads(_kubectl("get", "nodepool", pool, "-o=json"))["spec"]["hosts"]
    try:
        _scale(pool, hosts)
        yield
    finally:
        _scale(pool, before)


def _scale(pool: str, hosts: int) -> None:
    _kubectl("patch", "nodepool", pool, "--type=merge", f"--patch={json.dumps({'spec': {'hosts': hosts}})}")
    _kubectl("wait", f"nodepool/{pool}", "--for=condition=Ready", "--timeout=300s")


def _kubectl(*arguments: str) -> str:
    argv = [str(paths.bin_dir() / "kubectl"), f"--kubeconfig={paths.state_dir() / 'kubeconfig'}", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
