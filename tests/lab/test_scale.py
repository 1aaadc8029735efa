"""1,000 hosts with 8,000 GPUs and 50 models on the living lab: how long it takes, and where pods end up."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config.load import from_file
from infra.plan.build import accepted
from infra.plan.facts import ModelPlan
from lab import paths, stack_file
from lab.cluster.lab import Lab
from tests.bench.history import record
from tests.lab import scale
from tests.lab.living_lab import Change, get, kubectl, pulumi, serving_lab

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

UP_SECONDS = 300
"""From nothing to 1,000 hosts (s)."""
NO_CHANGE_SECONDS = 20
"""`pulumi up` when nothing has changed (s)."""
LONGEST_SECONDS = 1500
"""Longest wait for an update (s); what it should take is asserted."""

FOREIGN = {
    "apiVersion": "lab.railwright.dev/v1",
    "kind": "NodePool",
    "metadata": {"name": "strange"},
    "spec": {
        "hosts": 20,
        "hostsPerLeaf": 20,
        "template": {"capacity": {"cpu": "192", "memory": "2000Gi", "pods": "250", "nvidia.com/gpu": "8"}},
    },
}
"""Hosts with GPUs that belong to no pool of the stack, and carry no taint."""

CORDONED = ("large-0000", "medium-0040", "small-0000", "small-0007", "small-0033")
"""Hosts that are out of service before a model comes."""


@dataclass
class Seen:
    """What was done to the fleet, and what came of it."""

    seconds: dict[str, float] = field(default_factory=dict)
    pods: list[dict[str, Any]] = field(default_factory=list)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    models: dict[str, ModelPlan] = field(default_factory=dict)

    def hosts_of(self, model: str) -> list[str]:
        """Host of each of its pods."""
        return [pod["spec"]["nodeName"] for pod in self.pods if _model(pod) == model]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """From an empty cluster to 50 models on 1,000 hosts; afterwards the lab's own stack again."""
    lab, file, seen = serving_lab(), tmp_path_factory.mktemp("scale") / "Pulumi.lab.yaml", Seen()
    given = json.dumps(FOREIGN)
    pulumi("destroy", "--yes", "--skip-preview", "--stack=lab", seconds=LONGEST_SECONDS)
    try:
        _written(file, scale.with_pools)
        seen.seconds["scale-up-empty"] = _up(file)
        kubectl(lab, "apply", "--server-side", "--filename=-", given=given)
        kubectl(lab, "wait", "nodepool/strange", "--for=condition=Ready", "--timeout=120s")
        kubectl(lab, "cordon", *CORDONED)
        _written(file, scale.with_models)
        seen.seconds["scale-50-models"] = _up(file)
        seen.seconds["scale-no-change"] = _up(file, "--expect-no-changes")
        for case, seconds in seen.seconds.items():
            record(case, seconds, "1,000 hosts in the lab, policies on")
        _look(lab, file, seen)
        yield seen
    finally:
        kubectl(lab, "delete", "--ignore-not-found", "--timeout=120s", "--filename=-", given=given)
        pulumi("up", "--yes", "--skip-preview", "--stack=lab", seconds=LONGEST_SECONDS)


def _written(file: Path, change: Change) -> None:
    content = yaml.safe_load(stack_file.path().read_text())
    sections = {name.removeprefix("railwright:"): value for name, value in content["config"].items()}
    change(sections)
    content["config"] = {f"railwright:{name}": value for name, value in sections.items()}
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def _up(file: Path, *arguments: str) -> float:
    start = time.monotonic()
    more = ("--yes", "--skip-preview", "--stack=lab", f"--config-file={file}", *arguments)
    pulumi("up", *more, seconds=LONGEST_SECONDS)
    return time.monotonic() - start


def _look(lab: Lab, file: Path, seen: Seen) -> None:
    spec = from_file(file, paths.repo_root())
    seen.models = {plan.name: plan for plan in accepted(spec).models if plan.pool.simulated}
    found = get(lab, "pods", "--namespace=models")["items"]
    seen.pods = [pod for pod in found if _model(pod) in seen.models and "deletionTimestamp" not in pod["metadata"]]
    seen.nodes = {node["metadata"]["name"]: node for node in get(lab, "nodes")["items"]}


def _model(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"].get("app.kubernetes.io/name"))


@pytest.mark.parametrize(
    ("case", "most"),
    [("scale-up-empty", UP_SECONDS), ("scale-no-change", NO_CHANGE_SECONDS)],
    ids=["from empty", "no change"],
)
def test_an_update_of_a_thousand_hosts_is_quick(fleet: Seen, case: str, most: int) -> None:
    """On 2 cores, with etcd, API server and all control loops on them."""
    assert fleet.seconds[case] < most


def test_all_hosts_are_there(fleet: Seen) -> None:
    """Ready, with 8,000 GPUs among them."""
    own = [
        node for node in fleet.nodes.values() if node["metadata"]["labels"].get("railwright.dev/pool") in scale.POOLS
    ]
    assert len(own) == 1000
    assert sum(int(node["status"]["allocatable"]["nvidia.com/gpu"]) for node in own) == 8000


def test_every_replica_has_a_host(fleet: Seen) -> None:
    """50 models, each with as many ready pods as it wants."""
    ready = Counter(
        _model(pod)
        for pod in fleet.pods
        for condition in pod["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    )
    assert ready == {name: plan.model.replicas for name, plan in fleet.models.items()}
    assert len(ready) == 50


def test_no_pod_is_on_a_foreign_a_cordoned_or_a_spare_host(fleet: Seen) -> None:
    """Nor on one of another pool."""
    for name, plan in fleet.models.items():
        for host in fleet.hosts_of(name):
            labels = fleet.nodes[host]["metadata"]["labels"]
            assert labels.get("railwright.dev/pool") == plan.pool.name, (name, host)
            assert host not in CORDONED, (name, host)
            assert "railwright.dev/spare" not in labels, (name, host)


def test_each_model_has_the_hosts_that_the_plan_gave_it(fleet: Seen) -> None:
    """No more of them, none with another model, and on none more replicas than it holds."""
    taken: dict[str, set[str]] = defaultdict(set)
    for name, plan in fleet.models.items():
        counts = Counter(fleet.hosts_of(name))
        assert len(counts) == plan.placement.hosts, name
        assert max(counts.values()) <= plan.placement.replicas_per_host, name
        for host in counts:
            taken[host].add(name)
    assert {host: names for host, names in taken.items() if len(names) > 1} == {}


def test_a_replica_of_a_whole_host_has_all_rails_of_it(fleet: Seen) -> None:
    """Its eight ranks are on one host, hence on one leaf, and no other pod takes a GPU or a NIC there."""
    whole = [name for name, plan in fleet.models.items() if plan.layout.gpus == 8]
    hosts = [host for name in whole for host in fleet.hosts_of(name)]
    assert len(hosts) == len(set(hosts)) == 400


def test_replicas_of_whole_hosts_are_spread_over_leaves(fleet: Seen) -> None:
    """A leaf that fails takes no model of many replicas down."""
    for name, plan in fleet.models.items():
        if plan.layout.gpus == 8:
            leaves = {fleet.nodes[host]["metadata"]["labels"]["railwright.dev/leaf"] for host in fleet.hosts_of(name)}
            assert len(leaves) > 1, name
