"""Filters of kernel_settings, storage and hardening: who else owns a setting, and what is left to be done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ansible.fakes.plugin import plugin

boot_files = plugin("kernel_settings", "filter_plugins", "boot_files")
boot_words = plugin("kernel_settings", "filter_plugins", "boot_words")
limits = plugin("kernel_settings", "filter_plugins", "limits")
modules = plugin("kernel_settings", "filter_plugins", "modules")
drives = plugin("storage", "filter_plugins", "drives")
sshd = plugin("hardening", "filter_plugins", "sshd")

OWN = "/etc/sysctl.d/90-railwright-kernel_settings.conf"
SWAPPINESS = {"key": "vm.swappiness", "value": 10, "compare": "at_most"}
FORWARD = {"key": "net.ipv4.ip_forward", "value": 1}
FILES = {"key": "fs.file-max", "value": 100, "compare": "at_least"}
LATER = "/etc/sysctl.d/99-zz.conf"
FORWARD_TWICE = [f"{LATER} sets net.ipv4.ip_forward to 0, and {OWN} sets it to 1"]
SWAPPINESS_TWICE = [f"{LATER} sets vm.swappiness to 60, and {OWN} sets it to 10"]


@pytest.mark.parametrize(
    ("config", "rivals"),
    [
        ("# /etc/sysctl.d/99-zz.conf\nnet.ipv4.ip_forward = 0\n", FORWARD_TWICE),
        ("# /etc/sysctl.d/99-zz.conf\nnet.ipv4.ip_forward=1\n", []),
        ("# /etc/sysctl.d/99-zz.conf\n-net/ipv4/ip_forward = 0\n", FORWARD_TWICE),
        ("# /etc/sysctl.d/10-a.conf\nnet.ipv4.ip_forward = 0\n", []),
        ("# /etc/sysctl.d/99-zz.conf\n#net.ipv4.ip_forward = 0\n; net.ipv4.ip_forward = 0\n", []),
        ("# /etc/sysctl.d/99-zz.conf\nvm.swappiness = 1\n", []),
        ("# /etc/sysctl.d/99-zz.conf\nvm.swappiness = 60\n", SWAPPINESS_TWICE),
        (f"# {OWN}\nnet.ipv4.ip_forward = 0\n", []),
        ("# /etc/sysctl.d/99-zz.conf\nnet.ipv4.* = 0\n", []),
    ],
    ids=[
        "later", "later-same", "slashes-and-dash", "earlier", "comments", "better-than-most", "worse-than-most", "own",
        "glob-loses",
    ],
)  # fmt: skip
def test_a_file_that_wins_at_boot_is_named_with_ours(config: str, rivals: list[str]) -> None:
    """Only what comes after our file and says something worse is a second owner."""
    assert boot_files.boot_rivals([SWAPPINESS, FORWARD], config, OWN) == rivals


@pytest.mark.parametrize(
    ("row", "live", "config", "is_ours"),
    [
        (FILES, "fs.file-max = 500", "", False),
        (FILES, "fs.file-max = 100", "", True),
        (FILES, "fs.file-max = 50", "", True),
        (FILES, "fs.file-max = 500", "# /etc/sysctl.d/10-a.conf\nfs.file-max = 60\n", True),
        (FILES, "fs.file-max = 500", "# /etc/sysctl.d/10-a.conf\nfs.file-max = 500\n", False),
        (FILES, "fs.file-max = 500", "# /etc/sysctl.d/10-a.conf\nfs.* = 60\n", True),
        (SWAPPINESS, "vm.swappiness = 1", "", False),
        (FORWARD, "net.ipv4.ip_forward = 1", "", True),
        (FILES, "", "", True),
        (FILES, "fs.file-max = 500", f"# {OWN}\nfs.file-max = 500\n", True),
    ],
    ids=[
        "better", "equal", "worse", "better-now-only", "better-by-another", "worse-by-glob", "below-most", "equals",
        "no-key", "better-by-us",
    ],
)  # fmt: skip
def test_what_a_host_has_better_without_us_is_left_to_it(
    row: dict[str, Any], live: str, config: str, is_ours: bool
) -> None:
    """A least is never lowered and a most never raised, and both stay ours where the next boot would be worse."""
    assert bool(boot_files.sysctl_file([row], live, config, OWN)) is is_ours


@pytest.mark.parametrize(
    ("row", "live", "wrong"),
    [
        (FILES, "fs.file-max = 50", ["fs.file-max=100"]),
        (FILES, "fs.file-max = 9223372036854775807", []),
        (SWAPPINESS, "vm.swappiness = 60", ["vm.swappiness=10"]),
        (FORWARD, "net.ipv4.ip_forward = 0", ["net.ipv4.ip_forward=1"]),
        (FORWARD, "sysctl: cannot stat /proc/sys/net/ipv4/ip_forward", []),
        ({"key": "net.ipv4.tcp_rmem", "value": "4096 1 2"}, "net.ipv4.tcp_rmem = 4096\t1\t2", []),
    ],
    ids=["less", "more", "above-most", "differs", "no-such-key", "tabs"],
)
def test_live_values_that_are_not_as_wanted_are_set(row: dict[str, Any], live: str, wrong: list[str]) -> None:
    """Each is told as sysctl takes it; a key that the kernel lacks cannot be set."""
    assert boot_files.sysctl_wrong([row], live) == wrong


CFG = "/etc/default/grub.d/90-railwright-pcie.cfg"
ENTRY = "/boot/grub/grub.cfg:\tlinux /vmlinuz root=/dev/vda1 ro"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('/etc/default/grub:GRUB_CMDLINE_LINUX_DEFAULT="quiet iommu=off"', "/etc/default/grub sets iommu=off, and"),
        ("/etc/default/grub.d/50-cloudimg.cfg:GRUB_CMDLINE_LINUX='iommu=soft'", "50-cloudimg.cfg sets iommu=soft, and"),
        ('/etc/default/grub:GRUB_CMDLINE_LINUX="iommu=pt"', ""),
        ('/etc/default/grub:GRUB_CMDLINE_LINUX="intel_iommu=on"', ""),
        ('/etc/default/grub.d/99-x.cfg:GRUB_CMDLINE_LINUX="quiet"', "99-x.cfg replaces what"),
        ('/etc/default/grub.d/99-x.cfg:GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX quiet"', ""),
        ('/etc/default/grub.d/99-x.cfg:GRUB_CMDLINE_LINUX_DEFAULT="quiet"', ""),
        (f'{CFG}:GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=off"', ""),
    ],
    ids=["default", "cloud-image", "same", "other-word", "replaces", "adds", "other-variable", "own"],
)
def test_another_file_of_grub_is_named_with_ours(line: str, said: str) -> None:
    """A word with another value and a file that drops ours are second owners."""
    found = "; ".join(boot_words.boot_word_rivals({"iommu": "pt"}, [ENTRY, line], CFG))
    assert said in found
    assert bool(said) is bool(found)


def test_a_host_that_grub_does_not_boot_is_refused() -> None:
    """Words cannot be put on a command line that comes from elsewhere."""
    assert "GRUB alone is known here" in boot_words.boot_word_rivals({"iommu": "pt"}, [], CFG)[0]


@pytest.mark.parametrize(
    ("menu", "cmdline", "pending", "due"),
    [
        ("linux /v root=a ro iommu=pt", "BOOT_IMAGE=/v root=a ro", [], ["the kernel was booted without iommu=pt"]),
        ("linux /v root=a ro iommu=pt", "BOOT_IMAGE=/v root=UUID=1 ro iommu=pt", [], []),
        ("linux /v root=a ro", "BOOT_IMAGE=/v root=a ro iommu=pt", [], ["the kernel was booted with iommu=pt"]),
        ("linux /v root=a ro $vt_handoff", "BOOT_IMAGE=/v root=a ro", [], []),
        ("linux /v root=a ro", "root=a ro", ["iommu=pt"], ["the kernel was booted without iommu=pt"]),
        ("linux /v root=a ro\n\tlinux /v root=b ro panic=-1", "BOOT_IMAGE=/v root=b ro panic=-1", [], []),
    ],
    ids=["added", "in-force", "gone", "grub-variable", "check-mode", "cloud-image-without-initrd"],
)
def test_a_command_line_that_is_not_that_of_the_menu_waits_for_a_reboot(
    menu: str, cmdline: str, pending: list[str], due: list[str]
) -> None:
    """What the next boot adds and drops is told; what is booted is nobody's business."""
    assert boot_words.boot_words_due(f"menuentry x {{\n\t{menu}\n}}\n", cmdline, pending) == due


def test_a_word_without_value_stands_alone() -> None:
    """Values are made text, and 0 is one."""
    assert boot_words.boot_words({"quiet": "", "net.ifnames": 0}) == ["quiet", "net.ifnames=0"]


LIMITS_OWN = "/etc/security/limits.d/90-railwright.conf"


@pytest.mark.parametrize(
    ("line", "is_rival"),
    [
        ("/etc/security/limits.d/99-x.conf:* soft stack unlimited", True),
        ("/etc/security/limits.d/99-x.conf:root - memlock 64", True),
        ("/etc/security/limits.d/99-x.conf:* - memlock unlimited", False),
        ("/etc/security/limits.d/10-x.conf:* - memlock 64", False),
        ("/etc/security/limits.conf:* - memlock 64", False),
        ("/etc/security/limits.d/99-x.conf:alice - memlock 64", False),
        ("/etc/security/limits.d/99-x.conf:#* - memlock 64", False),
    ],
    ids=["stack", "root", "same", "earlier", "main-file", "one-user", "comment"],
)
def test_another_file_of_limits_is_named_with_ours(line: str, is_rival: bool) -> None:
    """Only what comes later, is for everybody or root, and says something else."""
    found = limits.limit_rivals({"memlock": "unlimited", "stack": 8192}, [line], LIMITS_OWN)
    assert bool(found) is is_rival
    assert not found or (LIMITS_OWN in found[0] and line.partition(":")[0] in found[0])


@pytest.mark.parametrize(
    ("line", "is_rival"),
    [
        ("/etc/modprobe.d/cis.conf:install overlay /bin/false", True),
        ("/etc/modprobe.d/cis.conf:blacklist br-netfilter", True),
        ("/etc/modprobe.d/x.conf:install overlay /sbin/modprobe --ignore-install overlay", False),
        ("/etc/modprobe.d/x.conf:blacklist nouveau", False),
        ("/etc/modprobe.d/x.conf:install", False),
    ],
    ids=["false", "other-spelling", "loads-it", "other-module", "cut-off"],
)
def test_a_file_that_forbids_a_module_is_named_with_ours(line: str, is_rival: bool) -> None:
    """Benchmarks of hardening forbid overlay, which containers need."""
    found = modules.module_rivals(["overlay", "br_netfilter"], [line], "/etc/modules-load.d/ours.conf")
    assert bool(found) is is_rival
    assert not found or ("/etc/modules-load.d/ours.conf" in found[0] and line.partition(":")[0] in found[0])


SSHD_OWN = "/etc/ssh/sshd_config.d/00-railwright.conf"
INCLUDE = "/etc/ssh/sshd_config:Include /etc/ssh/sshd_config.d/*.conf"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([INCLUDE, "/etc/ssh/sshd_config:PasswordAuthentication yes"], ""),
        (["/etc/ssh/sshd_config:PasswordAuthentication yes", INCLUDE],
         "/etc/ssh/sshd_config sets PasswordAuthentication to yes"),
        ([INCLUDE, "/etc/ssh/sshd_config.d/50-cloud-init.conf:PasswordAuthentication yes"], ""),
        ([INCLUDE, "/etc/ssh/sshd_config.d/00-a.conf:passwordauthentication yes"],
         "00-a.conf sets passwordauthentication to yes"),
        ([INCLUDE, "/etc/ssh/sshd_config.d/00-a.conf:PasswordAuthentication no"], ""),
        ([], "does not include"),
        (["/etc/ssh/sshd_config:Match User git", INCLUDE], "does not include"),
    ],
    ids=["after", "before", "cloud-image-loses", "first-file", "first-file-same", "no-include", "include-in-match"],
)  # fmt: skip
def test_another_file_of_sshd_that_speaks_first_is_named(lines: list[str], said: str) -> None:
    """The first that says something counts."""
    found = "; ".join(sshd.sshd_rivals({"PasswordAuthentication": "no"}, lines, SSHD_OWN))
    assert said in found
    assert bool(said) is bool(found)


def _drive(**said: Any) -> dict[str, Any]:
    return {
        "path": "/dev/nvme0n1",
        "type": "disk",
        "fstype": None,
        "label": None,
        "pttype": None,
        "mountpoints": [None],
    } | said


ARRAY = _drive(path="/dev/md127", type="raid0", fstype="xfs", label="rw-models", mountpoints=["/models"])
MEMBER = _drive(fstype="linux_raid_member", label="host-1:rw-models", children=[ARRAY])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([_drive()], ""),
        ([_drive(fstype="ext4", label="data")], "/dev/nvme0n1 has ext4 named data"),
        ([_drive(pttype="gpt", children=[_drive(path="/dev/nvme0n1p1", type="part")])], "/dev/nvme0n1 has partitions"),
        ([_drive(type="part")], "is a part, not a whole drive"),
        ([_drive(mountpoints=["/srv"])], "is mounted at /srv"),
        ([_drive(fstype="linux_raid_member", label="host-1:other")], "has linux_raid_member named host-1:other"),
        ([MEMBER], ""),
        ([_drive(fstype="xfs", label="rw-models", mountpoints=["/models"])], ""),
        ([_drive(fstype="xfs", label="rw-models", mountpoints=["/srv"])], "is mounted at /srv"),
        ([_drive(fstype="linux_raid_member", label="host-1:rw-models")], "of our array, which does not run"),
        ([], "are no drives"),
    ],
    ids=[
        "empty", "file-system", "partitions", "partition", "mounted", "array", "ours", "ours-alone", "ours-elsewhere",
        "ours-stopped", "missing",
    ],
)  # fmt: skip
def test_a_drive_that_holds_something_is_refused(found: list[dict[str, Any]], said: str) -> None:
    """What is on it is named; what we made is no fault."""
    listing = json.dumps({"blockdevices": found})
    faults = "; ".join(drives.drive_faults(listing, ["/dev/disk/by-id/nvme-0"], "rw-models", "/models"))
    assert said in faults
    assert bool(said) is bool(faults)


def test_a_drive_more_than_the_array_has_is_refused() -> None:
    """An array of RAID 0 does not grow; the others' models would be lost with it."""
    listing = json.dumps({"blockdevices": [MEMBER, _drive(path="/dev/nvme1n1")]})
    assert (
        "are in use by us already, and not the others"
        in drives.drive_faults(listing, ["a", "b"], "rw-models", "/models")[0]
    )


@pytest.mark.parametrize(
    ("found", "is_made"),
    [([MEMBER], True), ([_drive()], False), ([_drive(fstype="linux_raid_member", label="h:rw-models")], False)],
    ids=["made", "empty", "half"],
)
def test_a_file_system_is_made_once(found: list[dict[str, Any]], is_made: bool) -> None:
    """An array without a file system is half made."""
    assert drives.drives_are_ours(json.dumps({"blockdevices": found}), "rw-models") is is_made


@pytest.mark.parametrize(
    ("found", "array"),
    [
        ([MEMBER, MEMBER | {"path": "/dev/nvme1n1"}], "/dev/md127"),
        ([MEMBER, _drive(path="/dev/nvme1n1")], ""),
        ([_drive(), _drive(path="/dev/nvme1n1")], ""),
        ([], ""),
    ],
    ids=["runs", "half", "empty", "gone"],
)
def test_an_array_is_known_by_its_members(found: list[dict[str, Any]], array: str) -> None:
    """Whatever a boot called it: it is never made over one that runs."""
    assert drives.array_of_drives(json.dumps({"blockdevices": found}), "rw-models") == array
