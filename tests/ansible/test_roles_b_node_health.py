"""Role node_health, played on a sandbox."""

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

ROLE = "node_health"
METRICS = "var/lib/prometheus/node-exporter/railwright_kernel_log.prom"
TIMER = "etc/systemd/system/railwright-kernel-log.timer"
EXPORTER = "etc/default/prometheus-node-exporter"
PACKAGES = (
    Package("prometheus-node-exporter", "1.5.0-1", service="prometheus-node-exporter", starts=True),
    Package("datacenter-gpu-manager-4-core", "4.4.1", service="nvidia-dcgm"),
)
BOOT = """
unit=prometheus-node-exporter.service
if [ -e "$root/var/lib/fakes/units/$unit" ] && [ ! -L "$root/etc/systemd/system/$unit" ]; then
    chroot "$root" /usr/local/bin/prometheus-node-exporter >/dev/null 2>&1 &
fi
"""
"""What systemd does at a boot."""
IN_CLUSTER: dict[str, Any] = {"node_health_exporter": "absent"}
ALL: dict[str, Any] = {"node_health_dcgm": "running"}


def _machine(folder: Path) -> Sandbox:
    machine = Sandbox(folder, BOOT)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    machine.write(f"{STATE}/journal", "NVRM: Xid (PCI:0000:9b:00): 79, pid=7, GPU has fallen off the bus.\n")
    return machine


@pytest.mark.parametrize("variables", [ALL, IN_CLUSTER], ids=["all", "in-a-cluster"])
def test_it_does_what_check_mode_says_and_then_nothing(tmp_path: Path, variables: dict[str, Any]) -> None:
    """Check predicts exactly what the run changes; a second run after a boot changes nothing."""
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
    runs = _machine(tmp_path).play_killed(ROLE, **ALL)
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])


def test_faults_of_the_log_become_metrics(tmp_path: Path) -> None:
    """By the program that the timer runs; the host needs nothing of ours but that."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE, **IN_CLUSTER).status == 0
    labels = 'kind="xid",device="0000:9b:00",code="79",name="",action="restart the host"'
    assert f"railwright_kernel_faults_total{{{labels}}} 1" in machine.read(METRICS)
    service = machine.read("etc/systemd/system/railwright-kernel-log.service")
    argv = service.partition("ExecStart=")[2].splitlines()[0].split()
    assert machine.run(argv).returncode == 0
    assert f"railwright_kernel_faults_total{{{labels}}} 1" in machine.read(METRICS)


@pytest.mark.parametrize(
    ("variables", "file", "line"),
    [
        ({"node_health_log_interval": 30}, TIMER, "OnUnitActiveSec=30"),
        ({"node_health_exporter_address": "127.0.0.1:9200"}, EXPORTER, 'ARGS="--web.listen-address=127.0.0.1:9200 '),
        ({"node_health_textfiles": "/srv/metrics"}, EXPORTER, '--collector.textfile.directory=/srv/metrics"'),
    ],
    ids=["interval", "address", "folder"],
)
def test_each_variable_is_applied(tmp_path: Path, variables: dict[str, Any], file: str, line: str) -> None:
    """Written, and found again by the readback."""
    machine = _machine(tmp_path)
    run = machine.play(ROLE, **variables)
    assert run.status == 0, run.failure
    assert line in machine.read(file)


def test_what_pods_do_is_taken_from_the_host_and_given_back(tmp_path: Path) -> None:
    """Stopped and masked in a cluster, and running again outside of one."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE, **ALL).status == 0
    run = machine.play(ROLE, **IN_CLUSTER)
    assert run.status == 0, run.failure
    show = ["systemctl", "show", "prometheus-node-exporter", "nvidia-dcgm", "--property=LoadState,ActiveState"]
    assert machine.run(show).stdout.splitlines() == ["LoadState=masked", "ActiveState=inactive"] * 2
    assert machine.play(ROLE, **IN_CLUSTER).changed == []
    predicted = machine.play(ROLE, "--check", **ALL)
    back = machine.play(ROLE, **ALL)
    assert back.status == 0, back.failure
    assert back.changed == predicted.changed
    assert machine.run(show).stdout.splitlines() == ["LoadState=loaded", "ActiveState=active"] * 2


def test_a_watcher_that_is_not_wanted_goes(tmp_path: Path) -> None:
    """With its metrics, which would stay as they were for ever."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE, **IN_CLUSTER).status == 0
    gone = IN_CLUSTER | {"node_health_log_watcher": "absent"}
    assert machine.play(ROLE, **gone).status == 0
    assert machine.read(METRICS) + machine.read(TIMER) == ""
    assert machine.play(ROLE, **gone).changed == []


def test_a_timer_that_was_changed_holds_after_a_reboot(tmp_path: Path) -> None:
    """systemd is not reloaded, and the host says what waits."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE, **IN_CLUSTER).status == 0
    run = machine.play(ROLE, **IN_CLUSTER, node_health_log_interval=30)
    assert run.status == 0, run.failure
    assert "timer of the kernel log" in machine.read("run/railwright/reboot-due/node_health")
    assert [call for call in machine.calls("systemctl") if "reload" in call] == []


@pytest.mark.parametrize(
    ("file", "text", "variables", "said"),
    [
        ("etc/systemd/system/prometheus-node-exporter.service", "[Service]\nExecStart=/opt/node_exporter\n", {},
         "/etc/systemd/system/prometheus-node-exporter.service and /etc/default/prometheus-node-exporter"),
        ("etc/fstab", "", {"node_health_log_interval": 1}, "5 s and more"),
        ("etc/fstab", "", {"node_health_textfiles": "metrics"}, 'node_health_textfiles is "metrics"'),
        ("etc/fstab", "", {"node_health_exporter_address": "9100"}, 'node_health_exporter_address is "9100"'),
    ],
    ids=["second-owner", "interval", "folder", "address"],
)  # fmt: skip
def test_what_cannot_hold_is_refused(
    tmp_path: Path, file: str, text: str, variables: dict[str, Any], said: str
) -> None:
    """Before anything is touched; a second owner with both named."""
    machine = Sandbox(tmp_path)
    machine.write(file, text)
    run = machine.play(ROLE, **variables)
    assert said in run.failure
    assert run.changed == []


def test_a_second_host_engine_is_refused(tmp_path: Path) -> None:
    """It would end the one that a pod runs, again and again."""
    pod = 'ln -sf /bin/sleep "$root/tmp/nv-hostengine"; chroot "$root" /tmp/nv-hostengine 600 >/dev/null 2>&1 &'
    run = Sandbox(tmp_path, pod).play(ROLE, **ALL)
    assert "an nv-hostengine runs in a pod, and node_health_dcgm is running" in run.failure
    assert run.changed == []
