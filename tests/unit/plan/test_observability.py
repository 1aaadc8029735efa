"""What is watched follows from the stack: jobs, promises, prices and images."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from infra.catalog.monitoring import PUBLISHED
from infra.plan.facts import ObservabilityPlan
from infra.plan.outputs import outputs
from infra.plan.refusals.monitoring import HOST_SERIES, series
from tests.unit.plan.specs import LAB, STACK, plan_of

OWN = {"observability/storage": {"size_gib": 100}}
EXISTING = {"observability/existing": {"labels": {"release": "kps"}}}
OPERATOR = {"prometheus-operator", "prometheus-config-reloader"}


def seen(changes: dict[str, Any], base: dict[str, Any] = STACK) -> ObservabilityPlan:
    """Plan a changed stack that is watched."""
    found = plan_of(changes, base).observability
    assert found is not None
    return found


@pytest.mark.parametrize("changes", [{}, {"observability": {"enabled": False}}], ids=["absent", "off"])
def test_a_stack_without_the_section_is_not_watched(changes: dict[str, Any]) -> None:
    """And works as before."""
    plan = plan_of(changes)
    assert plan.observability is None
    assert plan.refusals == ()


def test_jobs_are_those_that_are_scraped() -> None:
    """What the target cannot show by itself is not among them."""
    assert seen(OWN).jobs == (
        *("vllm", "envoy", "dcgm-exporter", "coredns", "kubelet", "cadvisor", "kube-state-metrics", "node-exporter"),
        *("apiserver", "prometheus", "alertmanager", "prometheus-operator"),
    )


@pytest.mark.parametrize(
    ("changes", "base", "job", "there"),
    [
        ({**OWN, "observability/also": ["etcd"]}, STACK, "etcd", True),
        (OWN, STACK, "etcd", False),
        (OWN, LAB, "etcd", True),
        (OWN, LAB, "fleet", True),
        (OWN, STACK, "fleet", False),
        (OWN, LAB, "dcgm-exporter", False),
        ({**OWN, "pools/sim": {"board": "hgx-b300", "hosts": 2}}, LAB, "dcgm-exporter", True),
        ({**OWN, "observability/gpu_exporter": "none"}, STACK, "dcgm-exporter", False),
        ({**OWN, "observability/operator": "existing"}, STACK, "prometheus-operator", False),
        (EXISTING, STACK, "prometheus", False),
        (EXISTING, STACK, "kubelet", True),
    ],
    ids=["on request", "not asked", "lab etcd", "lab fleet", "no fleet", "no GPUs", "simulated GPUs", "nobody",
         "another operator", "another Prometheus", "its own jobs"],
)  # fmt: skip
def test_a_job_is_there_when_somebody_scrapes_it(
    changes: dict[str, Any], base: dict[str, Any], job: str, there: bool
) -> None:
    """Rules are made for jobs that are there; a rule for another would always, or never, fire."""
    assert (job in seen(changes, base).jobs) is there


def test_a_model_keeps_what_the_stack_promises() -> None:
    """Unless it says otherwise, value by value."""
    other = {**STACK["models"]["chat"], "weights": {"host_path": "/w"}}
    changes = {
        "models/slow": other,
        "observability": {"storage": {"size_gib": 9}, "slo": {"token_s": 0.2}, "models": {"slow": {"latency_s": 60}}},
    }
    found = seen(changes).objectives
    assert (found["chat"].latency_s, found["chat"].token_s) == (5.0, 0.2)
    assert (found["slow"].latency_s, found["slow"].token_s) == (60, 0.2)
    assert asdict(found["slow"]) | {"latency_s": 5.0} == asdict(found["chat"])


def test_only_a_pool_with_a_price_costs() -> None:
    """Nothing is assumed of the others."""
    changes = {**OWN, "pools/gpus/usd_per_gpu_hour": 2.5, "pools/more": {"board": "hgx-h200", "hosts": 1}}
    assert {name: price.usd_per_gpu_hour for name, price in seen(changes).prices.items()} == {"gpus": 2.5}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (OWN, set(PUBLISHED)),
        ({**OWN, "observability/operator": "existing"}, set(PUBLISHED) - OPERATOR),
        (EXISTING, {"dcgm-exporter"}),
        ({**EXISTING, "observability/gpu_exporter": "operator"}, set()),
    ],
    ids=["all of it", "another operator", "another Prometheus", "GPU Operator's"],
)  # fmt: skip
def test_only_what_runs_has_an_image(changes: dict[str, Any], parts: set[str]) -> None:
    """So that nobody has to name an image that nothing uses."""
    assert set(seen(changes).images) == parts


def test_published_images_need_no_word() -> None:
    """Name and digest are in the catalog."""
    assert seen(OWN).images == {part: image.reference for part, image in PUBLISHED.items()}


def test_the_labs_images_wait_for_its_lock() -> None:
    """It builds its own, and the lock knows their digests."""
    images = seen({**OWN, "images": {"lock": "lock.json"}}, LAB).images
    assert images["prometheus"] == "docker.io/railwright/prometheus"


def test_outputs_say_where_monitoring_answers() -> None:
    """Inside the cluster, without trailing slash."""
    found = outputs(plan_of(OWN))
    assert found["prometheus_url"] == "http://prometheus.monitoring.svc:9090"
    assert found["alertmanager_url"] == "http://alertmanager.monitoring.svc:9093"


def test_outputs_say_nothing_of_an_address_that_nobody_gave() -> None:
    """Another Prometheus is where its owner says."""
    there = {"labels": {"release": "kps"}, "prometheus_url": "https://prom.example.com/"}
    changes = {"observability/existing": there}
    found = outputs(plan_of(changes))
    assert found["prometheus_url"] == "https://prom.example.com"
    assert "alertmanager_url" not in found


def test_more_hosts_are_more_series() -> None:
    """The estimate follows what the stack has."""
    more = series(plan_of({**OWN, "pools/gpus/hosts": 5})) - series(plan_of(OWN))
    assert more > HOST_SERIES
