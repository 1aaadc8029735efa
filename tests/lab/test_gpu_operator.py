"""The real GPU Operator over simulated hosts, brought by our own component through Pulumi and Helm.

It needs ``lab up --simulated --no-stack``, and builds the operator's program in some minutes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest
from pulumi import automation

from infra.components.gpu_operator import GpuOperator, GpuOperatorArgs
from infra.plan.facts import Plan
from infra.plan.gpu_operator import readiness
from infra.plan.labels import OPT_OUT_LABEL
from lab import env, paths
from lab.cluster import status
from tests.lab.gpu_operator_process import NFD_LABELS, VERSION, eventually, items, kubectl, packed, pool, running, tools
from tests.unit.plan.specs import plan_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

OLD, NEW = "580.95.05", "580.173.02"
"""Versions of the driver, neither of which runs: simulated hosts have no kernels."""
PUBLISHED = Path(__file__).resolve().parents[1] / "contracts" / "charts"
"""Folder of published archives."""

Pods = dict[str, set[str]]


def planned(folder: Path, driver: str, *, nfd: str = "existing", version: str = VERSION) -> Plan:
    """Two pools with drivers of their own, and one that is left alone."""
    gpus = {"board": "hgx-h100", "hosts": 2}
    digest = hashlib.sha256((folder / f"gpu-operator-{version}.tgz").read_bytes()).hexdigest()
    change: dict[str, Any] = {
        "cluster/ownership": "baremetal-operator",
        "models": {},
        "charts": {"gpu-operator": {"version": version, "folder": str(folder), "sha256": digest}},
        "gpu_operator": {"nfd": nfd, "driver": {"version": driver}},
        "pools": {
            "blue": {**gpus, "gpu_operator": {"driver": {"version": driver}}},
            "green": {**gpus, "gpu_operator": {"driver": {"version": driver}}},
            "alone": {**gpus, "hosts": 1, "gpu_operator": {"operated": False}},
        },
    }
    return plan_of(change)


@pytest.fixture(scope="module")
def bin_dir() -> Path:
    """The operator's program, where a simulated lab without a stack is alive."""
    parts = {row.part for row in status.status().rows if row.state == "works"}
    if "fleet" not in parts or items("nodepools"):
        pytest.skip("no living lab without a stack in this clone; run `lab up --simulated --no-stack` first")
    return tools()


@pytest.fixture(scope="module")
def charts(bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the chart of the operator that runs."""
    folder = tmp_path_factory.mktemp("charts")
    packed(bin_dir / "gpu-operator-files" / "chart", folder)
    return folder


@pytest.fixture
def hosts(bin_dir: Path) -> Iterator[None]:
    """A host without GPUs, two pools with them, and one that the operator shall leave alone; gone afterwards."""
    pool("system", 1, {}, tainted=False)
    for name, labels in (("blue", {}), ("green", {}), ("alone", {OPT_OUT_LABEL: "false"})):
        pool(name, 1 if name == "alone" else 2, {**NFD_LABELS, **labels})
    yield
    kubectl("delete", "nodepools", "--all", "--timeout=90s")


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Plan], automation.Stack]]:
    """A Pulumi stack with the component alone in it; destroyed afterwards."""
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(paths.state_dir() / "kubeconfig", work)
    # As in the program, paths start where the provider runs.
    monkeypatch.chdir(work)
    variables = {**env.for_programs(), "PULUMI_BACKEND_URL": tmp_path.as_uri(), "PULUMI_CONFIG_PASSPHRASE": "test"}
    variables = {name: value for name, value in variables.items() if "POLICY" not in name and "_FILE" not in name}
    monkeypatch.setenv("PATH", variables["PATH"])
    made: list[automation.Stack] = []

    def of(plan: Plan) -> automation.Stack:
        def program() -> None:
            kubeconfig = str(work / "kubeconfig")
            provider = k8s.Provider("cluster", kubeconfig=kubeconfig, cluster_identifier="lab")
            GpuOperator("gpu-operator", GpuOperatorArgs(plan, kubeconfig), pulumi.ResourceOptions(provider=provider))

        options = automation.LocalWorkspaceOptions(env_vars=variables, work_dir=str(work))
        found = automation.create_or_select_stack("test", project_name="operator", program=program, opts=options)
        made.append(found)
        return found

    yield of
    if made:
        made[-1].destroy()
    kubectl("delete", "clusterpolicies,nvidiadrivers", "--all", "--ignore-not-found", "--timeout=60s")


@pytest.fixture
def operator(bin_dir: Path, tmp_path: Path) -> Iterator[None]:
    """The operator's program, which stands in for the pod that no simulated host can run."""
    # Without its kinds it ends; Helm brings them again, or finds them.
    for path in sorted((bin_dir / "gpu-operator-files" / "chart" / "crds").glob("*.yaml")):
        kubectl("apply", "--server-side", "--force-conflicts", f"--filename={path}")
    with running(bin_dir, tmp_path / "operator.log"):
        yield


def by_pool() -> Pods:
    """Pool to the DaemonSets that have a pod on one of its hosts."""
    found: Pods = {"system": set(), "blue": set(), "green": set(), "alone": set()}
    for pod in items("pods", "--namespace=gpu-operator"):
        owner = pod["metadata"].get("ownerReferences", [{}])[0]
        if owner.get("kind") == "DaemonSet":
            found[pod["spec"]["nodeName"].rpartition("-")[0]].add(owner["name"])
    return found


def _resources(brought: automation.Stack) -> list[dict[str, Any]]:
    """What the state has."""
    return list((brought.export_stack().deployment or {}).get("resources", []))


def versions() -> dict[str, list[str]]:
    """Pool to the version of the driver on each of its hosts."""
    found: dict[str, list[str]] = {"blue": [], "green": []}
    for pod in items("pods", "--namespace=gpu-operator", "--selector=app.kubernetes.io/component=nvidia-driver"):
        image = next(part["image"] for part in pod["spec"]["containers"] if part["name"] == "nvidia-driver-ctr")
        host = pod["spec"].get("nodeName", "unplaced-0").rpartition("-")[0]
        found.setdefault(host, []).append(image.rpartition(":")[2].partition("-")[0])
    return found


def test_preview_on_an_empty_cluster_knows_all_kinds(hosts: None, stack: Callable[[Plan], automation.Stack]) -> None:
    """Objects of kinds that do not exist yet are shown, not refused (pulumi-kubernetes#3247)."""
    kinds = [item["metadata"]["name"] for item in items("crds") if item["spec"]["group"].endswith("nvidia.com")]
    kubectl("delete", "crds", "--ignore-not-found", "--timeout=60s", "none.nvidia.com", *kinds)
    shown = stack(planned(PUBLISHED, NEW, version="v26.7.0")).preview()
    assert shown.change_summary.get(automation.OpType.CREATE, 0) >= 12


def test_gpus_come_up_where_they_should_and_drivers_change_pool_by_pool(
    hosts: None, operator: None, charts: Path, stack: Callable[[Plan], automation.Stack]
) -> None:
    """From an empty cluster to ready, then to a newer driver, of which the second pool sees nothing before its turn."""
    stack(planned(charts, OLD)).up()
    (policy,) = items("clusterpolicies")
    assert readiness.lacking_policy(policy) == ""
    landed = by_pool()
    assert landed["blue"]
    assert len(landed["blue"]) == len(landed["green"])
    assert (landed["system"], landed["alone"]) == (set(), set())
    (own,) = items("pods", "--namespace=gpu-operator", "--selector=app=gpu-operator")
    assert own["spec"]["nodeName"] == "system-0000"
    assert versions() == {"blue": [OLD, OLD], "green": [OLD, OLD]}

    seen: list[dict[str, list[str]]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(versions())
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        stack(planned(charts, NEW)).up()
    finally:
        done.set()
        watcher.join()
    assert versions() == {"blue": [NEW, NEW], "green": [NEW, NEW]}
    early = [look for look in seen if NEW in look["green"] and look["blue"] != [NEW, NEW]]
    assert early == []
    assert all(host["spec"].get("unschedulable", False) is False for host in items("nodes"))


def test_an_operator_without_labels_of_nfd_is_not_taken_for_ready(
    operator: None, bin_dir: Path, charts: Path, stack: Callable[[Plan], automation.Stack],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It says ready; that nothing runs anywhere is told with the reason."""
    pool("system", 1, {}, tainted=False)
    pool("blue", 1, {})
    monkeypatch.setattr(readiness, "deadline", lambda *_: 20)
    try:
        plan = planned(charts, NEW)
        with pytest.raises(automation.CommandError, match=r"labelled by NFD"):
            stack(plan).up()
        # It looks at labels some time after its policy is there.
        assert eventually(lambda: "NFDLabelsMissing" in readiness.lacking_policy(items("clusterpolicies")[0]))
    finally:
        kubectl("delete", "nodepools", "--all", "--timeout=90s")


def test_a_second_nfd_is_refused_by_name_in_preview(
    hosts: None, charts: Path, stack: Callable[[Plan], automation.Stack]
) -> None:
    """Before anything is touched."""
    labels = {"app.kubernetes.io/name": "node-feature-discovery"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "image": "example.com/nfd:1"}]}}
    foreign = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "nfd-worker", "namespace": "kube-system", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": pods},
    }
    kubectl("apply", "--server-side", "--filename=-", given=foreign)
    try:
        with pytest.raises(automation.CommandError, match=r"RW-501 gpu_operator.nfd: .*kube-system/nfd-worker"):
            stack(planned(charts, NEW, nfd="install")).preview()
    finally:
        kubectl("delete", "daemonset", "nfd-worker", "--namespace=kube-system")


def test_nothing_of_the_operator_is_left_after_destroy(
    hosts: None, operator: None, charts: Path, stack: Callable[[Plan], automation.Stack]
) -> None:
    """No namespace, no policy, no driver, and no finalizer that holds one."""
    brought = stack(planned(charts, NEW))
    brought.up()
    brought.destroy()
    assert items("clusterpolicies") == []
    assert items("nvidiadrivers") == []
    assert "gpu-operator" not in [item["metadata"]["name"] for item in items("namespaces")]


def test_a_stack_whose_cluster_is_gone_is_destroyed_with_its_release(
    hosts: None, operator: None, charts: Path, stack: Callable[[Plan], automation.Stack], tmp_path: Path
) -> None:
    """pulumi-kubernetes#2675, #2817: nothing hangs, and what the README tells leaves nothing in Pulumi's state."""
    brought = stack(planned(charts, NEW))
    brought.up()
    kubeconfig = tmp_path / "work" / "kubeconfig"
    kubeconfig.write_text(re.sub(r"server: .*", "server: https://127.0.0.1:1", kubeconfig.read_text()))
    brought.workspace.env_vars = {**brought.workspace.env_vars, "PULUMI_K8S_DELETE_UNREACHABLE": "true"}
    try:
        brought.destroy(refresh=True)
        assert _resources(brought) == []
    finally:
        kubectl("delete", "clusterpolicies,nvidiadrivers", "--all", "--ignore-not-found", "--timeout=60s")
        kubectl("delete", "namespace", "gpu-operator", "--ignore-not-found", "--timeout=90s")
        kubectl("delete", "clusterroles,clusterrolebindings", "--selector=app.kubernetes.io/managed-by=Helm")
