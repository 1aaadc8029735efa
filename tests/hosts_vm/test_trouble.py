"""What goes wrong on real machines: each is told in a clear line, nothing is lost, and the next run goes on."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
import yaml

from tests.hosts_vm.site import Plays, lab, read, ssh

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

FEW = ["kernel_settings", "hardening"]
"""Roles that are enough to be cut off in."""


@pytest.fixture(scope="module")
def second(plays: Plays) -> str:
    """The machine of this module; nobody has touched it yet."""
    return "vm-1"


def test_hosts_that_do_not_answer_or_refuse_us_are_a_line_each(plays: Plays, second: str) -> None:
    """A dead host and one that does not take our key are told together, and the one that is well is not among them."""
    port = json.loads(lab("status", "--json").stdout)[1]["port"]
    dead = {"ansible_host": "127.0.0.1", "ansible_port": 1}
    strange = {"ansible_host": "127.0.0.1", "ansible_port": port, "ansible_user": "nobody"}
    more = plays.folder / "more.yml"
    more.write_text(yaml.safe_dump({"pool_vm": {"hosts": {"vm-dead": dead, "vm-strange": strange}}}))
    done = plays.play("validate", f"--inventory={more}", f"--limit={second},vm-dead,vm-strange")
    told = [line.strip() for line in done.log.splitlines() if line.strip().startswith("host ")]
    assert done.status != 0
    assert [line.split()[1] for line in told] == ["vm-dead", "vm-strange"], done.log
    assert "refused" in told[0]
    assert "Permission denied" in told[1]


def test_a_full_disk_is_told_before_anything_is_written(plays: Plays, second: str) -> None:
    """No role begins on a host that has no room for what it writes."""
    read(second, "fallocate --length $(($(df --output=avail --block-size=1 / | tail -n 1) - 60000000)) /full")
    done = plays.play("tune", f"--limit={second}")
    assert done.status != 0
    assert "/ has less than 256 MiB left" in done.log
    assert done.changed == []


def test_a_disk_that_fills_up_loses_nothing(plays: Plays, second: str) -> None:
    """A file that cannot be written stays as it was, the task says why, and with room the next run goes on."""
    read(second, "dd if=/dev/zero of=/fuller bs=1M 2>/dev/null; sync; ls /etc/sysctl.d")
    before = read(second, "sha256sum /etc/default/grub.d/* /etc/security/limits.conf /etc/ssh/sshd_config")
    done = plays.play("tune", f"--limit={second}", tune_room_mib=0, tune_roles=FEW)
    assert done.status != 0
    assert "No space left on device" in done.log
    assert read(second, "sha256sum /etc/default/grub.d/* /etc/security/limits.conf /etc/ssh/sshd_config") == before
    read(second, "rm -f /full /fuller")


@pytest.mark.parametrize("cut_off_after", ["Write sysctls for the next boot", "Tell sshd"])
def test_a_run_that_was_killed_is_taken_up(plays: Plays, second: str, cut_off_after: str) -> None:
    """Killed with no chance to clean up; the next run ends well, and the one after it finds nothing to do."""
    process = plays.start("tune", f"--limit={second}", tune_roles=FEW)
    end = time.monotonic() + 600
    while cut_off_after not in {event.task for event in plays.told()} and time.monotonic() < end:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert ssh(second, "true").returncode == 0


def test_after_all_that_it_converges(plays: Plays, second: str) -> None:
    """All roles on what those runs left: once to put it right, and once more for nothing."""
    done = plays.play("tune", f"--limit={second}")
    assert done.status == 0, done.log
    again = plays.play("tune", f"--limit={second}")
    assert again.status == 0, again.log
    assert again.changed == []
