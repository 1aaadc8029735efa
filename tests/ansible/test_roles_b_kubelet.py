"""Role kubelet, played on a sandbox."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.fakes import packages
from tests.ansible.fakes.packages import Package
from tests.ansible.fakes.sandbox import STATE, Sandbox, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="needs root and mounts of its own"),
]

ROLE = "kubelet"
DUE = f"run/railwright/drain-due/{ROLE}"
CONFIG, PATCH = "var/lib/kubelet/config.yaml", "etc/kubernetes/patches/kubeletconfiguration9railwright+merge.yaml"
CPUS, MEMORY = "var/lib/kubelet/cpu_manager_state", "var/lib/kubelet/memory_manager_state"
USUAL = ("static", "None")
TOKEN = "abcdef.0123456789abcdef"
PACKAGES = (
    Package("kubelet", "1.34.2-1.1", service="kubelet"),
    Package("kubelet", "1.34.3-1.1", service="kubelet"),
    Package("kubeadm", "1.34.2-1.1"),
    Package("kubeadm", "1.34.3-1.1"),
)
JOIN: dict[str, Any] = {
    "kubelet_endpoint": "192.0.2.1:6443",
    "kubelet_token": TOKEN,
    "kubelet_ca_hashes": [f"sha256:{'0' * 64}"],
}


def _machine(folder: Path) -> Sandbox:
    machine = Sandbox(folder)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    return machine


def _joined(folder: Path) -> Sandbox:
    machine = _machine(folder)
    run = machine.play(ROLE, **JOIN)
    assert run.status == 0, run.failure
    return machine


def _policies(machine: Sandbox) -> tuple[str, str]:
    return json.loads(machine.read(CPUS))["policyName"], json.loads(machine.read(MEMORY))["policyName"]


@pytest.mark.parametrize("variables", [JOIN, {}], ids=["join", "prepare"])
def test_it_does_what_check_mode_says_and_then_nothing(tmp_path: Path, variables: dict[str, Any]) -> None:
    """Check predicts exactly what the run changes; a second run changes nothing."""
    machine = _machine(tmp_path)
    predicted = machine.play(ROLE, "--check", "--diff", **variables)
    done = machine.play(ROLE, **variables)
    assert (predicted.status, done.status) == (0, 0), predicted.failure + done.failure
    assert done.changed != []
    assert done.changed == predicted.changed
    again = machine.play(ROLE, **variables)
    assert (again.status, again.changed) == (0, []), again.failure


def test_a_run_that_is_killed_at_any_change_is_ended_by_the_next(tmp_path: Path) -> None:
    """Each run is killed after its first change, until one has nothing left to change; none of them fails."""
    runs = _machine(tmp_path).play_killed(ROLE, **JOIN)
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])


def test_a_join_starts_with_the_policies(tmp_path: Path) -> None:
    """No state file of another policy is ever written, and what the cluster says stays."""
    machine = _joined(tmp_path)
    found = yaml.safe_load(machine.read(CONFIG))
    assert _policies(machine) == ("static", "None")
    assert found["clusterDNS"] == ["10.96.0.10"]
    assert {key: found[key] for key in ("topologyManagerPolicy", "reservedSystemCPUs")} == {
        "topologyManagerPolicy": "restricted", "reservedSystemCPUs": "0-1",
    }  # fmt: skip


def test_a_node_registers_with_address_labels_and_taints(tmp_path: Path) -> None:
    """As words of kubelet's command line, which kubeadm writes."""
    machine = _machine(tmp_path)
    said = {
        "kubelet_node_ip": "192.0.2.7",
        "kubelet_labels": {"pool": "prefill", "leaf": "a"},
        "kubelet_taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    }
    assert machine.play(ROLE, **JOIN, **said).status == 0
    assert machine.read("var/lib/kubelet/kubeadm-flags.env") == (
        'KUBELET_KUBEADM_ARGS="--node-ip=192.0.2.7 --node-labels=pool=prefill,leaf=a'
        ' --register-with-taints=gpu=yes:NoSchedule"\n'
    )


def test_the_token_is_told_to_nobody(tmp_path: Path) -> None:
    """Neither in the loudest log, with differences, nor in a command line, nor in a file that is left."""
    machine = _machine(tmp_path)
    machine.write("usr/local/sbin/kubeadm", "#!/bin/sh\necho kubeadm $* >> /var/lib/fakes/calls; exit 1\n", mode=0o755)
    runs = [machine.play(ROLE, "-vvvv", "--diff", **JOIN)]
    machine.path("usr/local/sbin/kubeadm").unlink()
    runs += [machine.play(ROLE, "-vvvv", "--diff", **JOIN)]
    assert [run.status for run in runs] == [2, 0]
    assert [TOKEN in run.log for run in runs] == [False, False]
    assert machine.calls("kubeadm") == ["kubeadm join --config=/run/railwright/kubeadm-join.yaml"] * 2
    machine.path(f"{STATE}/play.yml").unlink()
    left = subprocess.run(["grep", "-rl", TOKEN, str(tmp_path / "upper")], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@pytest.mark.parametrize(
    ("variables", "says", "becomes"),
    [
        ({"kubelet_cpu_policy": "none"}, "cpuManagerPolicy is static, and none is wanted", ("none", "None")),
        ({"kubelet_memory_policy": "Static", "kubelet_reserved_memory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]},
         "memoryManagerPolicy is None, and Static is wanted", ("static", "Static")),
        ({"kubelet_reserved_cpus": "0-3"}, "reservedSystemCPUs is 0-1, and 0-3 is wanted", USUAL),
        ({"kubelet_topology_policy": "none"}, "topologyManagerPolicy is restricted, and none is wanted", USUAL),
        ({"kubelet_version": "1.34.2"}, "packages are to be changed: kubelet=1.34.2-*, kubeadm=1.34.2-*", USUAL),
    ],
    ids=["cpus", "memory", "reserved", "topology", "version"],
)  # fmt: skip
def test_a_change_waits_for_a_drain(
    tmp_path: Path, variables: dict[str, Any], says: str, becomes: tuple[str, str]
) -> None:
    """Undrained only the reason is written; drained, kubelet starts with new state files, as check mode has said."""
    machine = _joined(tmp_path)
    before = machine.read(CONFIG), machine.read(CPUS), machine.calls("systemctl")
    run = machine.play(ROLE, **JOIN, **variables)
    assert run.status == 0, run.failure
    assert says in machine.read(DUE)
    assert before == (machine.read(CONFIG), machine.read(CPUS), machine.calls("systemctl"))
    predicted = machine.play(ROLE, "--check", **JOIN, **variables, kubelet_drained=True)
    drained = machine.play(ROLE, **JOIN, **variables, kubelet_drained=True)
    assert drained.status == 0, drained.failure
    assert drained.changed == predicted.changed
    assert _policies(machine) == becomes
    assert machine.read(DUE) == ""
    assert machine.play(ROLE, **JOIN, **variables).changed == []


@pytest.mark.parametrize("broken", ["stop", "start"])
def test_a_change_that_ended_in_its_middle_is_ended_by_the_next_run(tmp_path: Path, broken: str) -> None:
    """Whatever it had no time for, kubelet runs by the new policy afterwards."""
    machine = _joined(tmp_path)
    script = f'#!/bin/sh\n[ "$1" = {broken} ] && exit 1\nexec /usr/local/bin/systemctl "$@"\n'
    machine.write("usr/local/sbin/systemctl", script, mode=0o755)
    changed = JOIN | {"kubelet_cpu_policy": "none", "kubelet_drained": True}
    assert machine.play(ROLE, **changed).status != 0
    machine.path("usr/local/sbin/systemctl").unlink()
    ended = machine.play(ROLE, **changed)
    assert ended.status == 0, ended.failure
    assert _policies(machine) == ("none", "None")
    assert machine.play(ROLE, **changed).changed == []


def test_a_join_that_ended_in_its_middle_is_begun_anew(tmp_path: Path) -> None:
    """kubeadm refuses to write over what the first one left, and a token that it left goes."""
    machine = _machine(tmp_path)
    machine.write("etc/kubernetes/pki/ca.crt", "left\n")
    machine.write("run/railwright/kubeadm-join.yaml", TOKEN)
    run = machine.play(ROLE, **JOIN)
    assert run.status == 0, run.failure
    assert [call.split()[1] for call in machine.calls("kubeadm")] == ["reset", "join"]
    assert machine.read("run/railwright/kubeadm-join.yaml") == ""


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (JOIN | {"kubelet_token": ""}, "kubelet_token is not set"),
        (JOIN | {"kubelet_ca_hashes": []}, "sha256 hashes of 64 digits are needed to join"),
        (JOIN | {"kubelet_endpoint": "https://192.0.2.1"}, "kubelet_endpoint is https://192.0.2.1"),
        ({"kubelet_reserved_cpus": ""}, "CPUs beside static"),
        ({"kubelet_memory_policy": "Static"}, "memory beside Static"),
        ({"kubelet_reserved_cpus": "0 1"}, "a list such as 0-1,32-33"),
        ({"kubelet_version": "latest"}, "a whole version such as"),
    ],
    ids=["no-token", "no-hashes", "no-port", "no-cpus", "no-memory", "no-list", "no-version"],
)
def test_variables_that_cannot_hold_are_refused(tmp_path: Path, variables: dict[str, Any], said: str) -> None:
    """Before anything is touched."""
    run = Sandbox(tmp_path).play(ROLE, **variables)
    assert said in run.failure
    assert run.changed == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("etc/default/kubelet", "KUBELET_EXTRA_ARGS=--cpu-manager-policy=none\n"),
        ("etc/systemd/system/kubelet.service.d/20-site.conf", "[Service]\nEnvironment=A=--config-dir=/etc/kubelet.d\n"),
        ("etc/kubernetes/patches/kubeletconfiguration+merge.yaml", "topologyManagerPolicy: none\n"),
    ],
    ids=["option", "folder", "patch"],
)
def test_a_second_owner_is_refused_with_both_named(tmp_path: Path, file: str, text: str) -> None:
    """Nothing is touched."""
    machine = Sandbox(tmp_path)
    machine.write(file, text)
    run = machine.play(ROLE)
    assert f"/{file} and /{PATCH} of the role kubelet set the same" in run.failure
    assert run.changed == []


def test_a_host_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """Its pods would be lost."""
    machine = Sandbox(tmp_path)
    machine.write("etc/kubernetes/kubelet.conf", "    server: https://192.0.2.9:6443\n")
    run = machine.play(ROLE, **JOIN)
    assert "is in the cluster of https://192.0.2.9:6443, and kubelet_endpoint is 192.0.2.1:6443" in run.failure
    assert run.changed == []
