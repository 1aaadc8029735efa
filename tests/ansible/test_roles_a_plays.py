"""Roles kernel_settings to hardening, played on a sandbox: what they refuse, and that they converge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.fakes import packages
from tests.ansible.fakes.kernel import Machine
from tests.ansible.fakes.packages import Package
from tests.ansible.fakes.sandbox import STATE, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="needs root and mounts of its own"),
]

DRIVES = ["/dev/disk/by-id/nvme-0", "/dev/disk/by-id/nvme-1"]
VARIABLES: dict[str, dict[str, Any]] = {
    # A sandbox may not raise limits of its own.
    "kernel_settings": {
        "kernel_settings_memlock": "8192",
        "kernel_settings_nofile": 1024,
        "kernel_settings_fabric": "roce",
    },
    "cpu": {"cpu_hugepages_1g": 4, "cpu_isolated": "8-31"},
    "pcie": {"pcie_drained": True},
    "storage": {"storage_devices": DRIVES, "storage_nfs": "present"},
    "time_sync": {"time_sync_servers": ["192.0.2.1"]},
    "hardening": {},
}
"""What each role is told beyond its defaults."""

PACKAGES = (
    Package("chrony", "4.3", service="chrony"), Package("auditd", "3.0", service="auditd"), Package("mdadm", "4.2"),
    Package("xfsprogs", "6.1"), Package("pciutils", "3.9"),
)  # fmt: skip


def _machine(folder: Path) -> Machine:
    """A host with an empty pair of drives, sshd as a cloud image has it, and packages to install."""
    machine = Machine(folder)
    machine.write(f"{STATE}/modules", "overlay\nbr_netfilter\n")
    machine.write(f"{STATE}/clock", "Normal\n")
    drives = [
        {"path": f"/dev/nvme{number}n1", "links": [link], "type": "disk", "fstype": None, "label": None, "pttype": None,
         "mountpoints": [None]} for number, link in enumerate(DRIVES)
    ]  # fmt: skip
    machine.write(f"{STATE}/drives.json", json.dumps(drives))
    machine.write("etc/fstab", "")
    machine.write("etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nX11Forwarding yes\n")
    machine.write("etc/ssh/sshd_config.d/50-cloud-init.conf", "PasswordAuthentication yes\n")
    machine.write("usr/lib/systemd/system/ssh.service", "[Service]\n")
    machine.write("etc/audit/rules.d/audit.rules", "-D\n")
    machine.write("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave\n")
    return machine


def _link(machine: Machine, unit: str) -> None:
    place = machine.path(f"etc/systemd/system/multi-user.target.wants/{unit}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(f"/lib/systemd/system/{unit}")


@pytest.mark.parametrize(
    ("role", "file", "text", "named"),
    [
        ("kernel_settings", "etc/sysctl.d/99-hardening.conf", "net.ipv4.ip_forward = 0\n",
         ("/etc/sysctl.d/99-hardening.conf", "/etc/sysctl.d/90-railwright-kernel_settings.conf", "ip_forward")),
        ("kernel_settings", "etc/modprobe.d/cis.conf", "install overlay /bin/false\n",
         ("/etc/modprobe.d/cis.conf", "/etc/modules-load.d/railwright-kernel_settings.conf", "overlay")),
        ("cpu", "tuned.service", "", ("tuned.service", "role cpu")),
        ("pcie", "etc/default/grub.d/50-cloudimg-settings.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="iommu=off"\n',
         ("/etc/default/grub.d/50-cloudimg-settings.cfg", "/etc/default/grub.d/90-railwright-pcie.cfg", "iommu=off")),
        ("storage", "etc/fstab", "UUID=1 /var/lib/railwright/models xfs defaults 0 0\n",
         ("/etc/fstab", "role storage")),
        ("storage", "etc/systemd/system/var-lib-railwright-models.mount", "[Mount]\n",
         ("/etc/systemd/system/var-lib-railwright-models.mount", "role storage")),
        ("storage", "etc/modprobe.d/nfs.conf", "options sunrpc tcp_max_slot_table_entries=16\n",
         ("/etc/modprobe.d/nfs.conf", "/etc/modprobe.d/railwright-storage.conf")),
        ("storage", "var/lib/railwright/models/weights", "", ("/var/lib/railwright/models/weights", "would hide")),
        ("time_sync", "ntpsec.service", "", ("ntpsec.service", "role time_sync")),
        ("hardening", "etc/ssh/sshd_config.d/00-a.conf", "PasswordAuthentication yes\n",
         ("/etc/ssh/sshd_config.d/00-a.conf", "/etc/ssh/sshd_config.d/00-railwright.conf")),
    ],
    ids=[
        "sysctl-file", "modprobe-file", "tuned", "cloud-image", "fstab", "mount-unit", "nfs-options", "files", "ntpsec",
        "sshd-file",
    ],
)  # fmt: skip
def test_a_second_owner_is_refused_with_both_named(
    tmp_path: Path, role: str, file: str, text: str, named: tuple[str, ...]
) -> None:
    """Nothing is touched, and the sentence says which two."""
    machine = _machine(tmp_path)
    _link(machine, file) if file.endswith(".service") else machine.write(file, text)
    run = machine.play(role, **VARIABLES[role])
    assert run.status != 0
    assert run.changed == []
    assert [word for word in named if word not in run.failure] == []


@pytest.mark.parametrize(
    ("role", "wrong", "said"),
    [
        ("kernel_settings", {"kernel_settings_ip_forward": 0}, "ip_forward is 0 on a host of a cluster"),
        ("kernel_settings", {"kernel_settings_boot_words": {"iommu": "off"}}, "kernel_settings_boot_words has iommu"),
        ("kernel_settings", {"kernel_settings_boot_words": {"a": "b c"}}, "kernel_settings_boot_words has a=b c"),
        ("kernel_settings", {"kernel_settings_modules": ["nosuch"]}, "Module nosuch not found"),
        ("kernel_settings", {"kernel_settings_memlock": "lots"}, "kernel_settings_memlock is lots"),
        ("pcie", {"pcie_iommu": False}, "pcie_iommu is false, which YAML makes of no and off"),
        ("cpu", {"cpu_hugepages_2m": "8"}, "cpu_hugepages_2m is the text '8'"),
        ("storage", {"storage_options": ["defaults"]}, "storage_options has defaults"),
        ("storage", {"storage_devices": ["/dev/nvme0n1"]}, "storage_devices has /dev/nvme0n1"),
        ("time_sync", {"time_sync_servers": []}, "time_sync_servers and time_sync_ptp are empty"),
        ("hardening", {"hardening_ssh_root": "no"}, "we log in as root, and hardening_ssh_root is no"),
    ],
    ids=[
        "forwarding-off", "owned-word", "two-words", "no-module", "no-limit", "yaml-off", "text", "hidden-option",
        "unstable-name", "no-server", "lock-out",
    ],
)  # fmt: skip
def test_variables_that_cannot_hold_are_refused(tmp_path: Path, role: str, wrong: dict[str, Any], said: str) -> None:
    """Before anything is touched, in a sentence that names the variable."""
    run = _machine(tmp_path).play(role, **(VARIABLES[role] | wrong))
    assert run.status != 0
    assert run.changed == []
    assert said in run.failure


@pytest.mark.parametrize(
    ("drained", "used"), [(False, "512"), (True, "512"), (False, "0")], ids=["waits", "drained", "unused"]
)
def test_swap_in_use_goes_only_from_a_drained_host(tmp_path: Path, drained: bool, used: str) -> None:
    """Until then the host says that it waits, and for what."""
    machine = _machine(tmp_path)
    machine.write(f"{STATE}/proc/swaps", f"Filename Type Size Used Priority\n/dev/vda2 partition 1024 {used} -2\n")
    run = machine.play("kernel_settings", **VARIABLES["kernel_settings"], kernel_settings_drained=drained)
    waits = used != "0" and not drained
    assert run.status == 0, run.failure
    assert bool(machine.calls("swapoff")) is not waits
    assert ("512 KiB are swapped out" in machine.due("drain", "kernel_settings")) is waits


def test_devices_in_use_are_left_until_the_host_is_drained(tmp_path: Path) -> None:
    """What waits is told, and nothing is written."""
    machine = _machine(tmp_path)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    assert machine.play("pcie").status == 0
    assert "wanted is performance" in machine.due("drain", "pcie")
    assert "[default]" in machine.read("sys/module/pcie_aspm/parameters/policy")


@pytest.mark.parametrize("role", VARIABLES)
def test_a_role_does_what_check_mode_says_and_then_nothing(tmp_path: Path, role: str) -> None:
    """Check predicts exactly what the run changes; a second run after a reboot changes nothing, and nothing waits."""
    machine = _machine(tmp_path)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    predicted = machine.play(role, "--check", "--diff", **VARIABLES[role])
    done = machine.play(role, **VARIABLES[role])
    assert (predicted.status, done.status) == (0, 0), predicted.failure + done.failure
    assert done.changed != []
    assert done.changed == predicted.changed
    machine.reboot()
    again = machine.play(role, **VARIABLES[role])
    assert (again.status, again.changed) == (0, []), again.failure
    assert machine.due("reboot", role) + machine.due("drain", role) == ""


@pytest.mark.parametrize("role", VARIABLES)
def test_a_run_that_is_killed_at_any_change_is_ended_by_the_next(tmp_path: Path, role: str) -> None:
    """Each run is killed after its first change, until one has nothing left to change; none of them fails."""
    machine = _machine(tmp_path)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    runs = machine.play_killed(role, **VARIABLES[role])
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])
    machine.reboot()
    assert machine.play(role, **VARIABLES[role]).changed == []
    assert machine.due("reboot", role) + machine.due("drain", role) == ""


@pytest.mark.parametrize(
    ("role", "folder"),
    [
        ("kernel_settings", "etc/sysctl.d"), ("cpu", "usr/local/lib/railwright"),
        ("hardening", "etc/ssh/sshd_config.d"),
    ],
    ids=["sysctls", "program", "sshd"],
)  # fmt: skip
def test_a_full_disk_is_told_and_the_next_run_ends_it(tmp_path: Path, role: str, folder: str) -> None:
    """The run says why it failed; with room, the next one leaves nothing to change."""
    machine = _machine(tmp_path)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    machine.fill(folder)
    full = machine.play(role, **VARIABLES[role])
    machine.free()
    assert full.status != 0
    assert "No space left on device" in full.log
    assert machine.play(role, **VARIABLES[role]).failure == ""
    assert machine.play(role, **VARIABLES[role]).changed == []
