"""Roles on a machine that boots: check mode says what happens, a second run changes nothing, a boot keeps it."""

from __future__ import annotations

import pytest

from tests.hosts_vm.site import Plays, read, verify

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

NOW = {"tune_reboot": "now"}


@pytest.fixture(scope="module")
def first(plays: Plays) -> str:
    """The machine of this module."""
    return "vm-0"


def test_check_mode_predicts_what_the_run_does(plays: Plays, first: str) -> None:
    """Every change of the first run was told before, and no other; what only a boot brings waits, with its reason."""
    predicted = plays.play("tune", "--check", "--diff", f"--limit={first}")
    assert predicted.status == 0, predicted.log
    done = plays.play("tune", f"--limit={first}")
    assert done.status == 0, done.log
    assert done.changed == predicted.changed
    assert {"Write words of the command line", "Set sysctls now", "Install chrony", "Make the file system"} <= {
        event.task for event in done.events if event.outcome == "changed"
    }
    assert "isolcpus" in read(first, "cat /run/railwright/reboot-due/cpu")
    assert "isolcpus" not in read(first, "cat /proc/cmdline")


def test_a_reboot_that_is_allowed_makes_it_hold(plays: Plays, first: str) -> None:
    """The new boot has the words of the command line, nothing waits, and applying the roles again changed nothing."""
    before = read(first, "cat /proc/sys/kernel/random/boot_id")
    done = plays.play("tune", f"--limit={first}", **NOW)
    assert done.status == 0, done.log
    assert read(first, "cat /proc/sys/kernel/random/boot_id") != before
    assert "isolcpus=1" in read(first, "cat /proc/cmdline").split()
    assert read(first, "ls /run/railwright/reboot-due /run/railwright/drain-due 2>/dev/null | grep -v : || true") == ""
    assert [name for name in done.changed if not name.startswith("Reboot")] == []


def test_every_setting_of_the_catalogue_is_read_back(plays: Plays, first: str) -> None:
    """The other judge asks the running host, and finds all of it as the inventory wants."""
    checks = verify(plays.inventory, first)
    assert len(checks) > 50
    assert {one["id"]: one["found"] for one in checks if one["outcome"] != "pass"} == {}


def test_a_setting_that_drifted_is_found_and_put_back(plays: Plays, first: str) -> None:
    """One value changed behind our back: that one is told, that one is changed, and no other."""
    read(first, "sysctl --write vm.swappiness=90")
    wrong = [one["id"] for one in verify(plays.inventory, first) if one["outcome"] != "pass"]
    assert wrong == ["kernel_settings.swappiness"]
    done = plays.play("tune", f"--limit={first}", tune_roles=["kernel_settings"])
    assert done.changed == ["Set sysctls now"]
    assert read(first, "sysctl --values vm.swappiness") == "10"
