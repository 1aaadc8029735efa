"""Pods start late, stop late, ask for what the plan says, and may do little."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.manifests import weights
from infra.plan.manifests.cluster import namespaces
from infra.plan.manifests.model import objects
from tests.unit.plan.specs import LAB, STACK, model_of, plan_of

M = "models/chat"
CLAIM = {"claim": "chat", "storage_class": "fast", "repository": "a/b", "revision": "0" * 40}


def _pod(changes: dict[str, Any] | None = None, base: dict[str, Any] = STACK) -> dict[str, Any]:
    deployment = objects(model_of(changes, base), ["gateway"])["deploy"]
    return dict(deployment["spec"]["template"]["spec"])


def _container(changes: dict[str, Any] | None = None, base: dict[str, Any] = STACK) -> dict[str, Any]:
    (container,) = _pod(changes, base)["containers"]
    return dict(container)


def test_a_pod_asks_for_the_gpus_of_its_ranks() -> None:
    """Extended resources need equal requests and limits."""
    resources = _container({f"{M}/tensor_parallel": 4, f"{M}/rdma_devices": 4})["resources"]
    for kind in ("requests", "limits"):
        assert (resources[kind]["nvidia.com/gpu"], resources[kind]["rdma/hca"]) == ("4", "4")


def test_memory_is_requested_as_it_is_limited() -> None:
    """A pod that loads weights is never the one that is evicted for memory it was promised."""
    resources = _container()["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == "23552Mi"


def test_shared_memory_is_bounded_by_the_plan() -> None:
    """Without a bound it would take half of the host's memory."""
    shm = next(item for item in _pod({f"{M}/shm_gib": 4})["volumes"] if item["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "4096Mi"}


@pytest.mark.parametrize(("changes", "grace"), [({}, 660), ({f"{M}/grace": "1h"}, 3600)], ids=["computed", "stated"])
def test_a_stop_leaves_time_for_open_answers(changes: dict[str, Any], grace: int) -> None:
    """SIGKILL comes after preStop, drain and teardown; the engine knows the same drain."""
    assert _pod(changes)["terminationGracePeriodSeconds"] == grace
    container = _container(changes)
    assert container["lifecycle"]["preStop"] == {"sleep": {"seconds": 40}}
    assert "--shutdown-timeout=600" in container["args"]


def test_a_start_may_take_the_whole_budget() -> None:
    """Failures times period is no less than the budget, and liveness waits for it."""
    probe = _container({f"{M}/startup_budget": "605s", f"{M}/first_prompt": 0})["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 605


def test_readiness_asks_whether_the_model_can_answer() -> None:
    """``/health`` answers before the model can."""
    container = _container()
    assert container["readinessProbe"]["httpGet"]["path"] == "/v1/models"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"


def test_a_busy_engine_is_not_restarted() -> None:
    """Half a minute of silence or more before a restart."""
    probe = _container()["livenessProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 30


@pytest.mark.parametrize("base", [STACK, LAB], ids=["GPU", "CPU"])
def test_a_pod_has_no_privilege(base: dict[str, Any]) -> None:
    """No root, no capability, no token, no escalation."""
    pod, container = _pod(base=base), _container(base=base)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not container["securityContext"]["allowPrivilegeEscalation"]


def test_a_service_named_vllm_cannot_break_the_engine() -> None:
    """Service links would set VLLM_PORT in every pod of the namespace."""
    assert _pod()["enableServiceLinks"] is False


def test_only_rdma_may_lock_memory() -> None:
    """Registering memory with a NIC needs it; nothing else does."""
    added = [_container({f"{M}/rdma_devices": count})["securityContext"]["capabilities"].get("add") for count in (0, 8)]
    assert added == [None, ["IPC_LOCK"]]


def test_pods_go_to_their_pool_only() -> None:
    """By the pool's label, with the model's own labels beside it."""
    assert _pod({f"{M}/node_labels": {"row": "a"}})["nodeSelector"] == {"railwright.dev/pool": "gpus", "row": "a"}


@pytest.mark.parametrize(("base", "runtime"), [(STACK, "nvidia"), (LAB, None)], ids=["GPU", "CPU"])
def test_gpu_pods_get_the_targets_runtime_class(base: dict[str, Any], runtime: str | None) -> None:
    """A class that is missing would keep the pod from being created at all."""
    assert _pod(base=base).get("runtimeClassName") == runtime


def test_only_gpu_pods_go_to_gpu_hosts() -> None:
    """They alone tolerate the taint."""
    assert [taint["key"] for taint in _pod()["tolerations"]] == ["nvidia.com/gpu"]
    assert "tolerations" not in _pod(base=LAB)


@pytest.mark.parametrize(("replicas", "least"), [(1, None), (2, 1), (8, 7)], ids=str)
def test_a_disruption_budget_can_make_progress(replicas: int, least: int | None) -> None:
    """One replica has none, as it could neither be spared nor kept."""
    budget = objects(model_of({f"{M}/replicas": replicas}), ["gateway"]).get("budget")
    assert (budget["spec"]["minAvailable"] if budget else None) == least


def test_only_the_gateway_reaches_a_model() -> None:
    """The engine itself asks nobody for a key."""
    (rule,) = objects(model_of(), ["gateway"])["policy"]["spec"]["ingress"]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "gateway"}}
    assert rule == {"from": [{"namespaceSelector": selector}], "ports": [{"protocol": "TCP", "port": 8000}]}


def test_every_figure_of_the_plan_is_passed_on() -> None:
    """What the engine would guess by itself is what the plan reckoned with."""
    args = _container({f"{M}/tensor_parallel": 2})["args"]
    want = {"--tensor-parallel-size=2", "--max-model-len=8192", "--max-num-seqs=256", "--gpu-memory-utilization=0.92"}
    assert want <= set(args)


def test_weights_are_read_only_wherever_they_lie() -> None:
    """A replica cannot spoil the next one's start."""
    for changes in ({}, {f"{M}/weights": CLAIM}):
        mount = next(item for item in _container(changes)["volumeMounts"] if item["mountPath"] == "/models")
        assert mount["readOnly"] is True


def test_every_mount_has_its_volume() -> None:
    """A name without one would be refused by the API server."""
    for changes in ({}, {f"{M}/weights": CLAIM}, {f"{M}/engine_mount": {"host_path": "/opt/vllm"}}):
        pod = _pod(changes)
        volumes = [volume["name"] for volume in pod["volumes"]]
        assert len(volumes) == len(set(volumes))
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} <= set(volumes)


def test_a_claim_has_room_for_the_weights() -> None:
    """15 GiB and 50 for compiled kernels, shared by all replicas."""
    spec = weights.claim(model_of({f"{M}/weights": CLAIM}))["spec"]
    assert (spec["resources"]["requests"]["storage"], spec["accessModes"]) == ("65Gi", ["ReadWriteMany"])


def test_the_download_is_pinned() -> None:
    """One commit, so that two downloads give the same weights."""
    job = weights.download(model_of({f"{M}/weights": CLAIM}))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert f"--revision={'0' * 40}" in container["args"]


@pytest.mark.parametrize(
    ("changes", "level"), [({}, "privileged"), ({f"{M}/weights": CLAIM}, "restricted")], ids=["host", "claim"]
)
def test_namespaces_are_as_strict_as_their_pods_allow(changes: dict[str, Any], level: str) -> None:
    """Folders of the host need an exception; claims do not; the gateway never does."""
    got = {
        key: item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for key, item in namespaces(plan_of(changes)).items()
    }
    assert got == {"namespace-models": level, "namespace-gateway": "restricted"}
