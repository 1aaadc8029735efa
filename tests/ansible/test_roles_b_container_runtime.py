"""Role container_runtime, played on a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ansible.fakes import packages
from tests.ansible.fakes.packages import Package
from tests.ansible.fakes.sandbox import STATE, Sandbox, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="needs root and mounts of its own"),
]

ROLE = "container_runtime"
DUE = f"run/railwright/drain-due/{ROLE}"
CONFIG, LIMITS = "etc/containerd/config.toml", "etc/systemd/system/containerd.service.d/railwright.conf"
IMPORTED = "etc/containerd/conf.d/zz.toml"
PACKAGES = (
    Package("containerd", "1.7.24-1", service="containerd", starts=True),
    Package("containerd", "1.7.27-1", service="containerd", starts=True),
    Package("containerd.io", "1.7.27-1", service="containerd", starts=True),
    Package("nvidia-container-toolkit", "1.18.1-1"),
)
GPUS: dict[str, Any] = {"container_runtime_toolkit": "present"}
PODS = """
mkdir -p "$root/tmp/pod" && ln -sf /bin/sleep "$root/tmp/pod/containerd-shim-runc-v2"
chroot "$root" /tmp/pod/containerd-shim-runc-v2 600 >/dev/null 2>&1 &
"""
"""A pod as the list of processes has it."""
UDEV = """
[ ! -e "$root/etc/udev/rules.d/71-railwright-nvidia-dev-char.rules" ] || {
    mkdir -p "$root/dev/char" && ln -s ../nvidia0 "$root/dev/char/195:0"; }
"""
"""What udev does at a boot."""


def _machine(folder: Path, network: str = "") -> Sandbox:
    machine = Sandbox(folder, network)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    return machine


def _with_driver(folder: Path, version: str = "580.126.09") -> Sandbox:
    machine = _machine(folder, UDEV)
    machine.write("sys/module/nvidia/version", f"{version}\n")
    return machine


@pytest.mark.parametrize("variables", [{}, GPUS], ids=["plain", "gpus"])
def test_it_does_what_check_mode_says_and_then_nothing(tmp_path: Path, variables: dict[str, Any]) -> None:
    """Check predicts exactly what the run changes; a second run after a boot changes nothing."""
    machine = _with_driver(tmp_path)
    predicted = machine.play(ROLE, "--check", "--diff", **variables)
    done = machine.play(ROLE, **variables)
    assert (predicted.status, done.status) == (0, 0), predicted.failure + done.failure
    assert done.changed != []
    assert done.changed == predicted.changed
    again = machine.play(ROLE, **variables)
    assert (again.status, again.changed) == (0, []), again.failure


def test_a_run_that_is_killed_at_any_change_is_ended_by_the_next(tmp_path: Path) -> None:
    """Each run is killed after its first change, until one has nothing left to change; none of them fails."""
    runs = _with_driver(tmp_path).play_killed(ROLE, **GPUS)
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])


def test_the_first_start_finds_files_and_limits(tmp_path: Path) -> None:
    """So that nothing is reloaded or started twice when the package comes."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE).status == 0
    package = ["systemctl --system daemon-reload", "systemctl enable containerd", "systemctl start containerd"]
    assert machine.calls("systemctl") == package
    assert "LimitMEMLOCK=infinity\nLimitNOFILE=1048576\n" in machine.read(LIMITS)


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"container_runtime_root": "/srv/containerd"}, 'root = "/srv/containerd"'),
        ({"container_runtime_sandbox_image": "pause@sha256:1"}, '  sandbox_image = "pause@sha256:1"'),
        ({"container_runtime_cgroup_driver": "cgroupfs"}, "  SystemdCgroup = false"),
        ({"container_runtime_cdi": "disabled"}, "  enable_cdi = false"),
        (GPUS, '  BinaryName = "/usr/bin/nvidia-container-runtime"'),
        ({}, "  SystemdCgroup = true"),
        ({}, "  enable_cdi = true"),
    ],
    ids=["root", "sandbox", "cgroupfs", "no-cdi", "toolkit", "systemd", "cdi"],
)
def test_each_variable_is_in_the_configuration(tmp_path: Path, variables: dict[str, Any], line: str) -> None:
    """Written, and found again by the readback."""
    machine = _machine(tmp_path)
    run = machine.play(ROLE, **variables)
    assert run.status == 0, run.failure
    assert line in machine.read(CONFIG).splitlines()


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"container_runtime_memlock": "8388608"}, "limits of containerd are to be changed, and 1 pods run"),
        ({"container_runtime_cdi": "disabled"}, "the configuration of containerd is to be changed, and 1 pods run"),
        ({"container_runtime_version": "1.7.24-1"}, "packages are to be changed: containerd=1.7.24-1, and 1 pods run"),
    ],
    ids=["limits", "configuration", "package"],
)
def test_pods_that_run_feel_nothing_until_the_host_is_drained(
    tmp_path: Path, variables: dict[str, Any], says: str
) -> None:
    """Until then nothing but the reason is written; drained, it is done, and the reason goes."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE).status == 0
    machine.write(f"{STATE}/network", PODS)
    run = machine.play(ROLE, **variables)
    assert run.status == 0, run.failure
    assert [one for one in run.changed if not one.startswith(("host_due", "Keep a place", "Say"))] == []
    assert machine.read(DUE) == f"{says}\n"
    drained = machine.play(ROLE, **variables, container_runtime_drained=True)
    assert drained.status == 0, drained.failure
    assert machine.read(DUE) == ""
    assert machine.play(ROLE, **variables).changed == []


def test_pods_that_run_do_not_hinder_what_is_right(tmp_path: Path) -> None:
    """A serving host that is as wanted waits for nothing."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE).status == 0
    machine.write(f"{STATE}/network", PODS)
    run = machine.play(ROLE)
    assert (run.status, run.changed, machine.read(DUE)) == (0, [], "")


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        (CONFIG, 'BinaryName = "/usr/local/nvidia/nvidia-container-runtime"\n', (f"/{CONFIG}", "NVIDIA's toolkit")),
        (IMPORTED, "  SystemdCgroup = false\n", (f"/{IMPORTED}", f"/{CONFIG}")),
        (IMPORTED, 'root = "/data"\n', (f"/{IMPORTED}", f"/{CONFIG}")),
        ("etc/systemd/system/containerd.service.d/zz.conf", "[Service]\nLimitMEMLOCK=64M\n",
         ("/etc/systemd/system/containerd.service.d/zz.conf", f"/{LIMITS}")),
    ],
    ids=["toolkit", "cgroups", "root", "limits"],
)  # fmt: skip
def test_a_second_owner_is_refused_with_both_named(
    tmp_path: Path, file: str, text: str, named: tuple[str, str]
) -> None:
    """Nothing is touched."""
    machine = _machine(tmp_path)
    machine.write(file, text)
    run = machine.play(ROLE)
    assert run.status != 0
    assert run.changed == []
    assert [word for word in named if word not in run.failure] == []


def test_a_file_of_the_toolkit_s_own_is_left_to_it(tmp_path: Path) -> None:
    """The GPU Operator adds its runtime there."""
    machine = _machine(tmp_path)
    machine.write("etc/containerd/conf.d/99-nvidia.toml", "[nvidia.options]\n  SystemdCgroup = true\n")
    assert machine.play(ROLE).status == 0


def test_the_other_package_of_containerd_is_not_exchanged(tmp_path: Path) -> None:
    """Its removal would end what depends on it."""
    machine = _machine(tmp_path)
    machine.run(["apt-get", "install", "--yes", "containerd.io"])
    run = machine.play(ROLE)
    assert "containerd.io is installed, and container_runtime_package is containerd" in run.failure
    assert run.changed == []


def test_another_root_under_running_pods_is_refused(tmp_path: Path) -> None:
    """Drained or not: pods of daemons stay, and would be forgotten."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE).status == 0
    machine.write(f"{STATE}/network", PODS)
    run = machine.play(ROLE, container_runtime_root="/srv/containerd", container_runtime_drained=True)
    assert "1 pods run from /var/lib/containerd, and container_runtime_root is /srv/containerd" in run.failure
    assert run.changed == []


@pytest.mark.parametrize("memlock", ["unlimited", "64M", ""])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, memlock: str) -> None:
    """Before systemd ignores it."""
    run = _machine(tmp_path).play(ROLE, container_runtime_memlock=memlock)
    assert "infinity, or bytes" in run.failure
    assert run.changed == []


def test_a_new_driver_gets_a_new_specification(tmp_path: Path) -> None:
    """Containers would look for libraries of the old one; running ones are not touched."""
    machine = _with_driver(tmp_path)
    assert machine.play(ROLE, **GPUS).status == 0
    machine.write("sys/module/nvidia/version", "580.150.01\n")
    run = machine.play(ROLE, **GPUS)
    assert run.changed == ["container_runtime : Specify the GPUs for the driver that is loaded"]
    assert "libcuda.so.580.150.01" in machine.read("etc/cdi/nvidia.yaml")


@pytest.mark.parametrize(("broken", "verb"), [("systemctl", "restart"), ("containerd", "config")])
def test_a_run_that_ended_in_its_middle_is_ended_by_the_next(tmp_path: Path, broken: str, verb: str) -> None:
    """Files that were written before it ended do not hide what was not done."""
    machine = _machine(tmp_path)
    machine.run(["apt-get", "install", "--yes", "containerd"])
    script = f'#!/bin/sh\n[ "$1" != {verb} ] && exec /usr/local/bin/{broken} "$@"\nexit 1\n'
    machine.write(f"usr/local/sbin/{broken}", script, mode=0o755)
    assert machine.play(ROLE).status != 0
    machine.path(f"usr/local/sbin/{broken}").unlink()
    ended = machine.play(ROLE)
    assert ended.status == 0, ended.failure
    assert machine.play(ROLE).changed == []
