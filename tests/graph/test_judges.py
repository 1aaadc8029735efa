"""What is rendered stands before judges that are not ours; where they are not followed, it says why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.graph import judges
from tests.graph.conftest import REPO, Record, config_of
from tests.graph.judges import Manifest, Objection

KUBERNETES = "1.36"
"""Version of clusters that kube-score judges for."""
STACKS = sorted(path.name.split(".")[1] for path in (REPO / "stacks").glob("Pulumi.*.yaml"))

ACCEPTED = {
    ("container-image-pull-policy", "*"): "an image is named by its digest: to ask the registry again brings the same, "
    "and a registry that is down must not keep a pod from starting",
    ("container-resources", "*: CPU limit is not set"): "a limit stops threads in the midst of an answer; requests "
    "keep everybody's share",
    ("container-ephemeral-storage-request-and-limit", "vllm: Ephemeral Storage limit is not set"): "beyond a limit an "
    "engine that answers is taken away; the request keeps room for what it compiles",
    ("container-ephemeral-storage-request-and-limit", "*"): "they write to volumes only, and the kubelet turns their "
    "logs over",
    (
        "container-security-context-readonlyrootfilesystem",
        "vllm: *",
    ): "engines, and the compilers that they call, write where their images put them",
    ("container-security-context-readonlyrootfilesystem", "dcgm-exporter: *"): "the engine inside keeps socket and log "
    "below /var",
    ("container-security-context-user-group-id", "dcgm-exporter: *"): "counters of the hardware are for root alone",
    ("deployment-has-host-podantiaffinity", "*"): "topologySpreadConstraints spread replicas; small ones are packed",
    ("pod-networkpolicy", "*matching egress NetworkPolicy"): "weights may come from addresses that no stack knows; who "
    "may call an engine is limited",
    ("pod-networkpolicy", "*matching NetworkPolicy"): "the gateway is for all to call, a download listens to nobody, "
    "and metrics are read from wherever somebody watches",
    ("pod-probes-identical", "*"): "the operator of Prometheus has one address for both",
    ("service-targets-pod", "*"): "the operator makes the pods of Prometheus and Alertmanager",
    ("service-type", "*: The service is of type NodePort"): "in the lab only, which is called from outside its network",
}
"""What kube-score says, by check and text → why it stays so."""

UNPUBLISHED = "could not find schema for NodePool"
"""CoreWeave publishes no definition of its kind; tests/contracts holds what we set against its documentation."""

EXTRA = {
    "bare-b300-queues": {"railwright:scheduling": {"kueue": {"install": False}}},
}
"""Options that no stack of the repository sets, on top of the one whose name they start with."""


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schemas of all kinds, written once."""
    return judges.schemas(tmp_path_factory.mktemp("schemas"))


@pytest.fixture(scope="session")
def rendered(record_whole: Record) -> Callable[[str], list[Manifest]]:
    """Objects of a stack, with its extra options if it has any."""

    def of(name: str) -> list[Manifest]:
        stack = next(stack for stack in STACKS if name.startswith(stack))
        return judges.manifests(record_whole(stack, {**config_of(stack), **EXTRA.get(name, {})}))

    return of


def _reasons(objection: Objection) -> list[str]:
    return [
        why for (check, text), why in ACCEPTED.items() if check == objection.check and fnmatch(objection.said, text)
    ]


every_stack = pytest.mark.parametrize("name", [*STACKS, *EXTRA])


@every_stack
def test_kubeconform_finds_nothing(rendered: Callable[[str], list[Manifest]], schema: Path, name: str) -> None:
    """Every field is one that the API server or the kind's definition knows, and of its type."""
    found = judges.kubeconform(rendered(name), schema)
    unknown = {item for item in found if item.said == UNPUBLISHED and name.startswith("coreweave")}
    assert [item for item in found if item not in unknown] == []


@every_stack
def test_kube_score_finds_nothing_that_has_no_reason(rendered: Callable[[str], list[Manifest]], name: str) -> None:
    """Warnings count as much as failures do."""
    assert [item for item in judges.kube_score(rendered(name), KUBERNETES) if not _reasons(item)] == []


def test_every_reason_is_needed(rendered: Callable[[str], list[Manifest]]) -> None:
    """What was put right, or is no longer there, needs no excuse."""
    found = [item for name in STACKS for item in judges.kube_score(rendered(name), KUBERNETES)]
    needed = {why for item in found for why in _reasons(item)}
    assert [why for why in ACCEPTED.values() if why not in needed] == []


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("Deployment", {"spec": {"replicaz": 2}}),
        ("Deployment", {"spec": {"replicas": "two"}}),
        ("PodMonitor", {"spec": {"selectr": {}}}),
        ("NodePool", {"spec": {"hosts": -1}}),
    ],
    ids=["unknown field", "wrong type", "custom kind", "bound"],
)
def test_kubeconform_sees_a_mistake(
    rendered: Callable[[str], list[Manifest]], schema: Path, kind: str, wrong: dict[str, Any]
) -> None:
    """So that the tests above can fail."""
    good = next(item for item in rendered("lab") if item["kind"] == kind)
    bad = {**good, "spec": {**good["spec"], **wrong["spec"]}}
    assert [item.kind for item in judges.kubeconform([good, bad], schema)] == [kind]


def test_kube_score_sees_a_mistake(rendered: Callable[[str], list[Manifest]]) -> None:
    """A container that may do everything."""
    good = next(item for item in rendered("lab") if item["kind"] == "Deployment")
    bad = copy.deepcopy(good)
    bad["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    found = {item.check for item in judges.kube_score([bad], KUBERNETES) if not _reasons(item)}
    assert "container-security-context-privileged" in found
