"""The lab's stack as it runs: what the plan says is what the cluster has, and no secret lies about."""

from __future__ import annotations

import base64
import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from infra.config.load import from_file
from infra.plan.build import accepted
from infra.plan.facts import ModelPlan, Plan
from infra.plan.labels import LEAF_LABEL, host_labels
from infra.plan.outputs import outputs
from lab import keys, paths, stack_file
from lab.cluster.hosts import HOSTS
from lab.cluster.lab import Lab
from tests.lab.living_lab import get, kubectl, pulumi, serving_lab

TOPOLOGY_LABEL = "network.topology.nvidia.com/leaf"
"""The leaf as NVIDIA's topograph names it, beside our own label."""

SIMULATED = [f"b300-{n:04d}" for n in range(4)] + [f"h200-{n:04d}" for n in range(2)]


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


@pytest.fixture(scope="module")
def plan() -> Plan:
    return accepted(from_file(stack_file.path()))


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> dict[str, Any]:
    return {host["metadata"]["name"]: host for host in get(lab, "nodes")["items"]}


@pytest.fixture(scope="module")
def pods(lab: Lab) -> dict[str, list[dict[str, Any]]]:
    """Pods that stay, by what they serve."""
    found: dict[str, list[dict[str, Any]]] = {}
    for pod in get(lab, "pods", "--all-namespaces", "--selector=app.kubernetes.io/part-of=railwright")["items"]:
        if "deletionTimestamp" not in pod["metadata"]:
            found.setdefault(pod["metadata"]["labels"]["app.kubernetes.io/name"], []).append(pod)
    return found


def test_a_preview_changes_nothing_and_asks_the_policies(lab: Lab) -> None:
    """Plain `pulumi preview` after `lab up` finds all as written, and the policy pack is part of it without a flag."""
    printed = pulumi("preview", "--stack=lab", "--expect-no-changes")
    assert f"(local: {paths.repo_root() / 'policies'})" in printed


def test_lab_up_ran_under_the_policies(lab: Lab) -> None:
    """The log of its last update names the pack and that it passed."""
    log = (paths.state_dir() / "log/up/pulumi/up.log").read_text()
    passed = [
        line for line in log.splitlines() if "railwright@" in line and str(paths.repo_root() / "policies") in line
    ]
    assert passed
    assert all("✅" in line for line in passed)


def test_a_policy_stops_what_the_plan_lets_pass(lab: Lab, tmp_path: Path) -> None:
    """The pack is mandatory: code from a checkpoint, switched on by a variable, does not get past the preview."""
    content = yaml.safe_load(stack_file.path().read_text())
    content["config"]["railwright:models"]["tiny"]["engine_env"]["TRUST_REMOTE_CODE"] = "true"
    changed = tmp_path / "Pulumi.lab.yaml"
    changed.write_text(yaml.safe_dump(content))
    printed = pulumi("preview", "--stack=lab", f"--config-file={changed}", succeeds=False)
    assert "RW-402" in printed
    assert "mandatory" in printed


def test_the_outputs_are_those_of_the_plan(lab: Lab, plan: Plan) -> None:
    """Whoever reads the stack reads the plan."""
    assert json.loads(pulumi("stack", "output", "--stack=lab", "--json")) == outputs(plan)


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_host_looks_like_its_board(plan: Plan, hosts: dict[str, Any], name: str) -> None:
    """Ready, 8 GPUs and 8 RDMA devices to give, the labels of GPU feature discovery, the taint, and its leaf."""
    host, pool = hosts[name], next(pool for pool in plan.pools if pool.name == name[:4])
    labels, room = host["metadata"]["labels"], host["status"]["allocatable"]
    assert {c["type"]: c["status"] for c in host["status"]["conditions"]}["Ready"] == "True"
    assert (room["nvidia.com/gpu"], room["rdma/hca"]) == ("8", "8")
    assert host_labels(pool).items() <= labels.items()
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in host["spec"]["taints"]
    leaf = f"{pool.name}-leaf-{int(name[-4:]) // (pool.pool.hosts_per_leaf or 1)}"
    assert (labels[LEAF_LABEL], labels[TOPOLOGY_LABEL]) == (leaf, leaf)


def test_the_pools_have_no_other_hosts(hosts: dict[str, Any]) -> None:
    """As many as the stack says, and the one real node."""
    assert set(hosts) == {*SIMULATED, *(host.name for host in HOSTS)}


def test_large_replicas_have_a_host_each(pods: dict[str, list[dict[str, Any]]]) -> None:
    """Both run on hosts of pool b300, on different leaves, with all 8 GPUs and the class that brings the driver."""
    specs = [pod["spec"] for pod in pods["llama-405b"]]
    names = {spec["nodeName"] for spec in specs}
    assert len(names) == len(specs) == 2
    assert names <= set(SIMULATED[:4])
    assert {int(name[-4:]) // 2 for name in names} == {0, 1}
    for spec in specs:
        resources = spec["containers"][0]["resources"]
        assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == "8"
        assert spec["runtimeClassName"] == "nvidia"


def test_the_real_engine_runs_with_no_privilege(pods: dict[str, list[dict[str, Any]]]) -> None:
    """On real hosts, as an unprivileged user, with nothing to write to but its volumes."""
    assert pods["tiny"]
    for spec in (pod["spec"] for pod in pods["tiny"]):
        (container,) = spec["containers"]
        assert spec["nodeName"] in {host.name for host in HOSTS}
        assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["runAsGroup"] == 10_001
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_real_engine_is_what_its_pod_says(lab: Lab, pods: dict[str, list[dict[str, Any]]]) -> None:
    """Seen from inside: user 10001, no capability, no way to gain one, no writable root."""
    name = pods["tiny"][0]["metadata"]["name"]
    inside = ("--namespace=models", "exec", name, "--")
    state = dict(
        line.split(":\t", 1) for line in kubectl(lab, *inside, "cat", "/proc/1/status").splitlines() if ":\t" in line
    )
    assert set(state["Uid"].split()) == {"10001"}
    assert (state["CapEff"], state["CapBnd"], state["NoNewPrivs"], state["Seccomp"]) == ("0" * 16, "0" * 16, "1", "2")
    root = next(line for line in kubectl(lab, *inside, "cat", "/proc/mounts").splitlines() if line.split()[1] == "/")
    assert "ro" in root.split()[3].split(",")


@pytest.mark.parametrize("model", ["llama-405b", "tiny"])
def test_a_pod_carries_the_whole_checklist(plan: Plan, pods: dict[str, list[dict[str, Any]]], model: str) -> None:
    """What public charts leave out is on the live pods: probes, drain, volumes, identity and image."""
    wanted = next(item for item in plan.models if item.name == model)
    for pod in pods[model]:
        missing = [what for what, holds in checklist(wanted, pod["spec"]) if not holds]
        assert not missing


def checklist(plan: ModelPlan, spec: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each point, and whether it holds.

    Source: serving checklist, §18 of the survey of serving stacks.
    """
    container, volumes = spec["containers"][0], {volume["name"]: volume for volume in spec["volumes"]}
    start, ready, alive = (container[f"{name}Probe"] for name in ("startup", "readiness", "liveness"))
    environment = {entry["name"]: entry for entry in container["env"]}
    shm, mounts = volumes["shm"]["emptyDir"], {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    stop, security = plan.shutdown, container["securityContext"]
    yield "shared memory with a size", shm["medium"] == "Memory" and bool(shm["sizeLimit"])
    yield "shared memory within the limit", plan.pod_memory.shm + plan.pod_memory.staged <= plan.pod_memory.limit
    port, path, tokens, *_, patience = start["exec"]["command"][3:]
    yield "startup by the model", path == ready["httpGet"]["path"] == "/v1/models"
    yield "startup by the longest prompt", (int(port), int(tokens)) == (plan.engine.port, plan.model.max_model_len - 1)
    yield "startup budget", int(patience) * start["failureThreshold"] >= max(600, plan.startup.floor)
    yield "a busy engine is not dead", alive["failureThreshold"] >= 5 and alive["timeoutSeconds"] >= 5
    yield "preStop sleeps", container["lifecycle"]["preStop"]["sleep"]["seconds"] == stop.pre_stop >= 10
    yield "the engine drains", f"--shutdown-timeout={stop.drain}" in container["args"]
    yield "grace", spec["terminationGracePeriodSeconds"] > stop.pre_stop + stop.drain + stop.teardown
    yield "longest answer", stop.drain >= stop.longest_answer
    yield "spread by host", "kubernetes.io/hostname" in {s["topologyKey"] for s in spec["topologySpreadConstraints"]}
    yield "not root", spec["securityContext"]["runAsNonRoot"] is True
    yield "seccomp", spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    yield "no capability", security["capabilities"]["drop"] == ["ALL"] and not security["allowPrivilegeEscalation"]
    yield "no token", spec["automountServiceAccountToken"] is False and spec["serviceAccountName"] == plan.name
    yield "weights read-only", mounts["/models"].get("readOnly") is True
    yield "no download at run time", environment["HF_HUB_OFFLINE"]["value"] == "1"
    yield "compile caches", {"VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"} <= set(environment)
    yield "own address", environment["VLLM_HOST_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    yield "same hashes on every replica", environment["PYTHONHASHSEED"]["value"] == "0"
    yield "no service links", spec["enableServiceLinks"] is False
    yield "digest", "@sha256:" in container["image"]
    yield "scratch space", bool(container["resources"]["requests"]["ephemeral-storage"])
    yield "last words", container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    yield "no foreign code", not any("trust" in argument for argument in container["args"])


def test_deployments_and_budgets_follow_the_free_gpus(lab: Lab, plan: Plan) -> None:
    """Surge where there is room, a deadline beyond the start, and a budget that neither holds all nor none."""
    live = {item["metadata"]["name"]: item["spec"] for item in get(lab, "deployments", "--namespace=models")["items"]}
    for model in plan.models:
        spec = live[model.name]
        roll = {"maxSurge": model.rollover.max_surge, "maxUnavailable": model.rollover.max_unavailable}
        assert spec["strategy"]["rollingUpdate"] == roll
        assert spec["progressDeadlineSeconds"] > model.startup.budget
    budgets = get(lab, "poddisruptionbudgets", "--namespace=models")["items"]
    assert {budget["metadata"]["name"]: budget["spec"]["minAvailable"] for budget in budgets} == {
        "llama-405b": 1,
        "tiny": 1,
    }


def forms(secret: str) -> Iterator[bytes]:
    """A secret as it would lie in a file: as it is, and in base64 at each of three offsets."""
    yield secret.encode()
    for shift in range(3):
        # The first and last characters also depend on the neighbours.
        yield base64.b64encode(b"\0" * shift + secret.encode())[4:-4]


def holders(folder: Path, wanted: list[bytes]) -> list[str]:
    """Files below a folder that have any of these in them."""
    found = []
    for path in (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found += [str(path)] if any(content.find(secret) >= 0 for secret in wanted) else []
    return found


@pytest.fixture(scope="module")
def secrets(lab: Lab) -> list[bytes]:
    values = [keys.value(name) for name in keys.key_files()] + [keys.passphrase_file().read_text().strip()]
    return [form for value in values for form in forms(value)]


def test_the_search_finds_what_is_there(lab: Lab, secrets: list[bytes], tmp_path: Path) -> None:
    """Keys are seen where they belong, in the gateway's Secret; so the tests below would see them elsewhere."""
    (tmp_path / "secret.json").write_text(kubectl(lab, "--namespace=gateway", "get", "secret", "gateway", "-o", "json"))
    assert holders(tmp_path, secrets) == [str(tmp_path / "secret.json")]
    assert holders(paths.state_dir() / "secrets", secrets)


@pytest.mark.parametrize("folder", ["pulumi/state", "log", "node-log", "etcd", "config"])
def test_no_secret_lies_in_a_file(secrets: list[bytes], folder: str) -> None:
    """Neither Pulumi's state, nor any log of a part or a pod, nor the cluster's store has one in clear."""
    assert holders(paths.state_dir() / folder, secrets) == []


@pytest.mark.parametrize(
    "arguments",
    [("get", "pods", "--all-namespaces", "--output=yaml"), ("get", "events", "--all-namespaces", "--output=yaml"),
     ("get", "deployments,replicasets", "--all-namespaces", "--output=yaml")],
    ids=["pods", "events", "deployments"],
)  # fmt: skip
def test_no_secret_is_in_the_cluster_but_in_the_secret(
    lab: Lab, secrets: list[bytes], arguments: tuple[str, ...]
) -> None:
    """Whoever may look at pods has not seen a key."""
    printed = kubectl(lab, *arguments).encode()
    assert not any(secret in printed for secret in secrets)


def test_no_secret_is_exported(lab: Lab, secrets: list[bytes]) -> None:
    """`pulumi stack export` holds them sealed."""
    printed = pulumi("stack", "export", "--stack=lab").encode()
    assert b"ciphertext" in printed
    assert not any(secret in printed for secret in secrets)


def test_no_secret_is_in_a_process_list(secrets: list[bytes]) -> None:
    """Nobody gets one as an argument, where every user of the machine could read it."""
    lines = [" ".join(process.info["cmdline"] or []).encode() for process in psutil.process_iter(["cmdline"])]
    assert lines
    assert not [line for line in lines if any(secret in line for secret in secrets)]
