"""Every metric that our rules read is in the lab's Prometheus, or only hardware can give it."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx
import pytest

from infra.catalog.metrics import METRICS
from infra.catalog.metrics.metric import Metric
from infra.config.load import clone_root, from_file
from infra.plan.build import build
from infra.plan.rules import rules
from infra.plan.rules.expressions import metrics
from tests.lab.living_lab import serving_lab

PORT = 30090
"""Node port of the lab's Prometheus. Source: stacks/Pulumi.lab.yaml, observability.prometheus.node_port."""

ON_GPUS = "model:gpu_use:ratio"
"""Recording that needs an engine on a host with GPUs; the lab's engine has none, its GPUs are simulated."""

HAPPEN = {
    "kubelet_runtime_operations_errors_total": "a question to the runtime that failed",
    "kube_pod_container_status_waiting_reason": "a container that waits",
    "coredns_dns_responses_total": "a name that was asked for",
    "DCGM_EXP_XID_ERRORS_COUNT": "an Xid within the last minutes",
    "ALERTS": "an alert",
}
"""Metrics that appear with an event which a healthy lab need not have had."""


@pytest.fixture(scope="module")
def prometheus() -> httpx.Client:
    """Client of the lab's Prometheus; skips where the lab has none."""
    client = httpx.Client(base_url=f"http://{serving_lab().network.node_ip}:{PORT}", trust_env=False, timeout=10)
    try:
        client.get("/-/ready").raise_for_status()
    except httpx.HTTPError:
        pytest.skip("the lab has no Prometheus; add railwright:observability and run `lab up`")
    return client


@pytest.fixture(scope="module")
def names(prometheus: httpx.Client) -> set[str]:
    """Names of all series of the last quarter of an hour."""
    asked = {"start": str(time.time() - 900)}
    return set(prometheus.get("/api/v1/label/__name__/values", params=asked).raise_for_status().json()["data"])


def _groups() -> list[dict[str, Any]]:
    spec = from_file(clone_root() / "stacks/Pulumi.lab.yaml")
    assert spec.stack is not None
    return rules(build(spec, spec.stack))


def _read() -> set[str]:
    return {name for group in _groups() for rule in group["rules"] for name in metrics(rule["expr"])}


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.name)
def test_a_metric_is_there_or_needs_hardware(row: Metric, names: set[str]) -> None:
    """Under exactly the name in the catalogue."""
    missing = set(row.series()) - names
    if missing and (row.hardware or row.name in HAPPEN):
        pytest.skip(f"needs {HAPPEN.get(row.name, 'hardware')}")
    assert missing == set()


@pytest.mark.parametrize("row", [row for row in METRICS.values() if not row.hardware], ids=lambda row: row.name)
def test_a_metric_has_the_type_and_edges_that_we_think(row: Metric, prometheus: httpx.Client, names: set[str]) -> None:
    """A gauge that was meant to be a counter would make every rate a fiction."""
    if not set(row.series()) <= names or row.job == "*":
        pytest.skip("not there, which the test above judges")
    said = prometheus.get("/api/v1/metadata", params={"metric": row.name}).raise_for_status().json()["data"]
    kinds = {entry["type"] for entry in said.get(row.name, [])} - {"unknown"}
    assert kinds <= {row.kind, "untyped"}
    if row.edges:
        found = prometheus.get("/api/v1/series", params={"match[]": f"{row.name}_bucket"}).raise_for_status().json()
        edges = {float(series["le"]) for series in found["data"]} - {float("inf")}
        assert edges == set(row.edges)


def test_every_rule_of_ours_is_loaded_and_works(prometheus: httpx.Client) -> None:
    """What the plan renders is what Prometheus evaluates, without an error."""
    loaded = [rule for group in prometheus.get("/api/v1/rules").raise_for_status().json()["data"]["groups"]
              for rule in group["rules"]]  # fmt: skip
    wanted = [rule.get("record") or rule["alert"] for group in _groups() for rule in group["rules"]]
    assert sorted(set(wanted) - {rule["name"] for rule in loaded}) == []
    assert [f"{rule['name']}: {rule['lastError']}" for rule in loaded if rule.get("lastError")] == []


def test_recordings_that_need_no_hardware_have_data(prometheus: httpx.Client, names: set[str]) -> None:
    """A recording without a series is a rule that joins on labels which are not there."""
    recorded = {rule["record"]: rule["expr"] for group in _groups() for rule in group["rules"] if "record" in rule}
    told = {name: expr for name, expr in recorded.items() if not _may_be_empty(expr, names)}
    assert sorted(told.keys() - names - {ON_GPUS}) == []


def _may_be_empty(expr: str, names: set[str]) -> bool:
    """Whether it reads what is not there, or keeps only what is unusual."""
    return bool(metrics(expr) - names) or bool(re.search(r"(== 0|> 0|> 1|unless)", expr))
