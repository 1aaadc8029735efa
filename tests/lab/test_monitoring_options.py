"""Options of monitoring on the living lab: samples that go elsewhere too, and a Prometheus that was there first."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.config.load import from_file
from infra.plan.build import accepted
from infra.plan.manifests.observability import access, operator, prometheus
from lab import stack_file
from lab.cluster.lab import Lab
from tests.lab.living_lab import changed_stack, eventually, kubectl, serving_lab

pytestmark = pytest.mark.long

RECEIVER_PORT = 19090
"""Port of the store elsewhere, on the machine's end of the lab's link."""

SECONDS = 120.0
"""In this time after a change samples arrive elsewhere: the operator, the kubelet and a scrape come before (s)."""


@contextmanager
def store_elsewhere(lab: Lab, folder: Path) -> Iterator[str]:
    """A Prometheus outside the cluster that scrapes nothing and takes what is sent; its base URL."""
    config, url = folder / "prometheus.yml", f"{lab.network.host_ip}:{RECEIVER_PORT}"
    config.write_text("global: {}\n")
    argv = [lab.tool("prometheus"), "--web.enable-remote-write-receiver", f"--config.file={config}"]
    argv += [f"--storage.tsdb.path={folder / 'samples'}", f"--web.listen-address={url}"]
    with (folder / "log").open("w") as log, subprocess.Popen(argv, stdout=log, stderr=log) as server:
        try:
            ready = f"http://{url}/-/ready"
            eventually(lambda: httpx.get(ready, trust_env=False).status_code == httpx.codes.OK, 30)
            yield f"http://{url}"
        finally:
            server.terminate()


def series(url: str, query: str) -> list[dict[str, str]]:
    """Labels of each series that a Prometheus gives."""
    answer = httpx.get(f"{url}/api/v1/query", params={"query": query}, trust_env=False, timeout=10)
    answer.raise_for_status()
    return [item["metric"] for item in answer.json()["data"]["result"]]


def test_remote_write_brings_every_sample_to_a_store_elsewhere(tmp_path: Path) -> None:
    """Targets and rules of this cluster are seen there, and say which cluster they are of."""
    lab = serving_lab()

    def send(spec: dict[str, Any], url: str) -> None:
        spec["observability"]["remote_write"] = {"url": f"{url}/api/v1/write"}

    with store_elsewhere(lab, tmp_path) as url, changed_stack(tmp_path) as bring_up:
        bring_up(lambda spec: send(spec, url))

        def arrived() -> bool:
            jobs = {labels["job"] for labels in series(url, "up == 1")}
            assert jobs >= {"vllm", "envoy", "kubelet", "etcd"}
            return bool(series(url, 'ALERTS{alertname="Watchdog",cluster="lab"}'))

        assert eventually(arrived, SECONDS)


THEIRS = "their-monitoring"
"""Namespace of the Prometheus that was there first."""


@contextmanager
def prometheus_of_others(lab: Lab) -> Iterator[str]:
    """An operator and its Prometheus in a namespace of their own, which pick up what is labelled; its base URL."""
    plan = accepted(from_file(stack_file.path()))
    assert plan.observability is not None
    seen = replace(plan.observability, namespace=THEIRS, labels={"release": "theirs"})
    parts = access.objects(plan, seen) | operator.objects(seen) | prometheus.objects(seen)
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(parts.values())})
    try:
        kubectl(lab, "apply", "--filename=-", given=given)
        yield f"http://{lab.network.node_ip}:{seen.config.prometheus.node_port}"
    finally:
        kubectl(lab, "delete", "--ignore-not-found", "--timeout=120s", "--filename=-", given=given)


def test_a_prometheus_that_was_there_first_reads_our_monitors_and_rules(tmp_path: Path) -> None:
    """With `existing` the stack brings no Prometheus of its own; the other one scrapes engines and gateway and judges
    them by our rules."""
    lab = serving_lab()

    def hand_over(spec: dict[str, Any]) -> None:
        kept = {name: spec["observability"][name] for name in ("pace", "scrape_interval", "slo")}
        spec["observability"] = {**kept, "existing": {"labels": {"release": "theirs"}, "namespace": THEIRS, "jobs": []}}

    def judged(url: str) -> bool:
        assert {labels["job"] for labels in series(url, "up == 1")} >= {"vllm", "envoy"}
        groups = httpx.get(f"{url}/api/v1/rules", trust_env=False).json()["data"]["groups"]
        assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
        return bool(series(url, 'ALERTS{alertname="Watchdog"}'))

    with changed_stack(tmp_path) as bring_up:
        kubectl(lab, "create", "namespace", THEIRS)
        try:
            bring_up(hand_over)
            assert "prometheus" not in kubectl(lab, "get", "pods", "--namespace=monitoring", "--ignore-not-found")
            with prometheus_of_others(lab) as url:
                eventually(lambda: judged(url), SECONDS)
        finally:
            # The way back needs the stack's own objects out of it first; Pulumi does not mind that they are gone.
            kubectl(lab, "delete", "namespace", THEIRS, "--timeout=120s")
