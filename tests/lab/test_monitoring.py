"""Monitoring on the living lab: everything that the plan promises is scraped, known by the right names, and told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from infra.config.load import from_file
from infra.plan.build import accepted
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.rules import rules
from lab import stack_file
from lab.cluster.lab import Lab
from tests.lab.living_lab import eventually, get, kubectl, serving_lab

SECONDS = 60.0
"""In this time after a change every target is up (s)."""

RELOAD_SECONDS = 180.0
"""In this time new rules are loaded: the kubelet brings changed files every minute or so (s)."""

Targets = dict[str, list[Mapping[str, Any]]]


@pytest.fixture(scope="module")
def lab() -> Lab:
    lab = serving_lab()
    if not kubectl(lab, "get", "namespace", "monitoring", "--ignore-not-found"):
        pytest.skip("the lab of this clone is not watched; `lab up` brings the monitoring")
    return lab


@pytest.fixture(scope="module")
def plan() -> Plan:
    return accepted(from_file(stack_file.path()))


@pytest.fixture(scope="module")
def seen(plan: Plan) -> ObservabilityPlan:
    assert plan.observability is not None
    return plan.observability


def ask(lab: Lab, port: int | None, path: str, **query: str) -> Any:
    """Ask Prometheus or Alertmanager at their ports on the lab's host."""
    answer = httpx.get(f"http://{lab.network.node_ip}:{port}{path}", params=query, trust_env=False, timeout=10)
    answer.raise_for_status()
    return answer.json()


def prometheus(lab: Lab, seen: ObservabilityPlan, path: str, **query: str) -> Any:
    """Ask Prometheus' API."""
    return ask(lab, seen.config.prometheus.node_port, f"/api/v1/{path}", **query)["data"]


def values(lab: Lab, seen: ObservabilityPlan, query: str) -> list[Mapping[str, str]]:
    """Labels of each series that a query gives."""
    return [item["metric"] for item in prometheus(lab, seen, "query", query=query)["result"]]


@pytest.fixture(scope="module")
def targets(lab: Lab, seen: ObservabilityPlan) -> Targets:
    """Targets by job, once all of them are up."""

    def all_up() -> Targets:
        found: Targets = defaultdict(list)
        for target in prometheus(lab, seen, "targets", state="active")["activeTargets"]:
            found[target["labels"]["job"]].append(target)
        down = {job: each["lastError"] for job, items in found.items() for each in items if each["health"] != "up"}
        assert down == {}
        return found

    found: Targets = eventually(all_up, SECONDS)
    return found


def test_every_job_of_the_plan_is_scraped_and_up(targets: Targets, seen: ObservabilityPlan) -> None:
    """And no other; GPUs of simulated hosts are seen through the fleet."""
    assert set(targets) == set(seen.jobs) - {"dcgm-exporter"}


def test_simulated_gpus_are_seen_as_gpus(lab: Lab, seen: ObservabilityPlan, plan: Plan) -> None:
    """The fleet speaks for every host of every simulated pool, under the exporter's own name."""
    wanted = {pool.name: pool.pool.hosts for pool in plan.pools if pool.simulated}

    def told() -> bool:
        query = 'count by (host, pool) ({job="dcgm-exporter",__name__=~"DCGM_FI_DEV_GPU_UTIL.*"})'
        found = Counter(labels.get("pool", "of no pool") for labels in values(lab, seen, query))
        assert found == wanted
        return True

    # Hosts that another test had in the cluster are in the answer until the next scrape.
    eventually(told, SECONDS)


@pytest.mark.parametrize("job", ["kubelet", "cadvisor", "node-exporter"])
def test_real_hosts_are_watched_and_simulated_ones_are_not_asked(lab: Lab, targets: Targets, job: str) -> None:
    """One target for each host that has a kubelet, known by host and pool."""
    nodes = get(lab, "nodes", "--selector=!lab.railwright.dev/nodepool")["items"]
    real = {(node["metadata"]["name"], node["metadata"]["labels"]["railwright.dev/pool"]) for node in nodes}
    assert {(item["labels"]["host"], item["labels"]["pool"]) for item in targets[job]} == real
    assert len(targets[job]) == len(real)


def test_engines_are_known_by_model_and_host(lab: Lab, targets: Targets) -> None:
    """Every real replica, and none of those that exist in the API only."""
    pods = get(lab, "pods", "--namespace=models", "--selector=app.kubernetes.io/name=tiny")["items"]
    running = {
        (pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in pods if "deletionTimestamp" not in pod["metadata"]
    }
    found = {(item["labels"]["pod"], item["labels"]["host"]) for item in targets["vllm"]}
    assert running
    assert found >= running
    assert {item["labels"]["model"] for item in targets["vllm"]} == {"tiny"}


def test_the_gateway_says_which_model_itself(targets: Targets) -> None:
    """Its target has no model that would hide that of its series."""
    assert targets["envoy"]
    assert not [item for item in targets["envoy"] if "model" in item["labels"]]


def test_what_is_sent_elsewhere_says_where_it_comes_from(lab: Lab, seen: ObservabilityPlan) -> None:
    """Cluster and stack are on everything that leaves this Prometheus."""
    config = prometheus(lab, seen, "status/config")["yaml"]
    for label, value in seen.external_labels.items():
        assert f"{label}: {value}" in config


def test_the_rules_of_the_plan_are_loaded_and_can_be_evaluated(lab: Lab, seen: ObservabilityPlan, plan: Plan) -> None:
    """As many as the plan has, none with an error."""
    wanted = sum(len(group["rules"]) for group in rules(plan))

    def evaluated() -> bool:
        found = [rule for group in prometheus(lab, seen, "rules")["groups"] for rule in group["rules"]]
        assert ({rule["health"] for rule in found}, len(found)) == ({"ok"}, wanted)
        return True

    assert eventually(evaluated, RELOAD_SECONDS)


def test_alertmanager_hears_of_the_watchdog(lab: Lab, seen: ObservabilityPlan) -> None:
    """The alert that always fires: the way from rule to message is open."""

    def heard() -> bool:
        alerts = ask(lab, seen.config.alertmanager.node_port, "/api/v2/alerts")
        return "Watchdog" in {alert["labels"]["alertname"] for alert in alerts}

    assert eventually(heard, SECONDS)


def test_the_operator_took_everything(lab: Lab) -> None:
    """Prometheus and Alertmanager are available, and no object of ours was refused."""
    for kind in ("prometheus", "alertmanager"):
        (item,) = get(lab, kind, "--namespace=monitoring")["items"]
        assert {c["type"]: c["status"] for c in item["status"]["conditions"]} == {
            "Available": "True",
            "Reconciled": "True",
        }
    events = get(lab, "events", "--namespace=monitoring")["items"]
    assert [event["message"] for event in events if event["reason"] == "InvalidConfiguration"] == []


def test_monitoring_takes_no_more_than_it_asked_for(lab: Lab, seen: ObservabilityPlan) -> None:
    """No container of it was killed for its memory."""
    query = 'kube_pod_container_status_last_terminated_reason{namespace="monitoring",reason="OOMKilled"} > 0'
    assert values(lab, seen, query) == []
