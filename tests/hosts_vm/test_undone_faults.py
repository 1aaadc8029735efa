"""Faults of drills that the lab's own hosts cannot have, made and taken back on a machine with its own kernel.

What node exporter says of them there is what the alert's rule judges; promtool judges the rule.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.catalog.alerts import ALERTS
from runbooks.drills import jump_clock, press_memory
from tests.hosts_vm.site import CONFIG, Plays, read
from tests.tools import node_exporter

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

HOST = "vm-1"
"""Its time server is the other machine."""

EXPORTER = "railwright-test-exporter"
"""Transient unit of the exporter."""

PROGRAM = f"/usr/local/bin/{EXPORTER}"
"""The exporter on the host; nothing in /run may be executed."""


@pytest.fixture(scope="module")
def exporter(plays: Plays) -> Iterator[None]:
    """Both machines keep time by chrony, and the lab's own node exporter runs on the one."""
    done = plays.play("tune", tune_roles=["time_sync"])
    assert done.status == 0, done.log
    write = ["ssh", "-F", str(CONFIG), HOST, f"cat > {PROGRAM} && chmod 0755 {PROGRAM}"]
    subprocess.run(write, input=Path(node_exporter()).read_bytes(), check=True, timeout=300)
    read(HOST, f"systemd-run --unit={EXPORTER} --collect {PROGRAM} --web.listen-address=127.0.0.1:9100")
    listens = "for i in $(seq 60); do ss -ltn | grep -q 127.0.0.1:9100 && exit; sleep 1; done; exit 1"
    read(HOST, listens)
    yield
    read(HOST, f"systemctl stop {EXPORTER}; rm {PROGRAM}")


def samples(collector: str, after: str = "") -> dict[str, float]:
    """What one collector of the host's exporter says without labels, and what a program prints right after it."""
    url = f"http://127.0.0.1:9100/metrics?collect[]={collector}"
    page = f"from urllib.request import urlopen\nprint(urlopen('{url}').read().decode())\n"
    lines = read(HOST, f"python3 -c {shlex.quote(page + after)}").splitlines()
    found = [line.split() for line in lines if line and not line.startswith("#") and "{" not in line]
    return {name: float(value) for name, value in found}


SERVER_TIME = """
from socket import AF_INET, SOCK_DGRAM, socket
from struct import unpack
server = socket(AF_INET, SOCK_DGRAM)
server.settimeout(10)
server.sendto(b"\\x1b" + bytes(47), ("10.12.0.10", 123))
seconds, part = unpack("!II", server.recv(48)[40:])
print("server_time", seconds - 2208988800 + part / 2**32)
"""
"""Asks the time server: both answers are of the same moment, however slow the machine. Source: RFC 4330, 3 and 4."""


def ahead() -> float:
    """How far the host's clock is before its time server's (s)."""
    found = samples("time", SERVER_TIME)
    return found["node_time_seconds"] - found["server_time"]


def available() -> float:
    """Share of the host's memory that is available."""
    found = samples("meminfo")
    return found["node_memory_MemAvailable_bytes"] / found["node_memory_MemTotal_bytes"]


def words(script: str, *arguments: str) -> str:
    """A command line of a drill, as its client sends it."""
    return shlex.join(["sh", "-c", script, *arguments])


@pytest.mark.usefixtures("exporter")
def test_a_clock_that_jumps_is_beyond_the_alert_and_comes_back() -> None:
    """The host differs by more than HostClockSkewed allows while the fault is in, and by less when it is undone."""
    allowed = ALERTS["HostClockSkewed"].limits["skew"]
    assert abs(ahead()) < allowed
    read(HOST, words(jump_clock.ON, "jump", f"{jump_clock.AHEAD.total_seconds():.0f}"))
    try:
        assert ahead() > allowed
    finally:
        read(HOST, words(jump_clock.OFF))
    assert abs(ahead()) < allowed
    assert read(HOST, "systemctl is-active chrony") == "active"


@pytest.mark.usefixtures("exporter")
def test_memory_that_is_taken_is_beyond_the_alert_and_comes_back() -> None:
    """Less is left than HostMemoryLow allows as long as the fault is in; nothing else of the host was killed for it."""
    allowed, before = ALERTS["HostMemoryLow"].limits["free"], available()
    assert before > allowed
    running = read(HOST, "systemctl list-units --plain --no-legend --state=running --type=service | cut -d' ' -f1")
    read(HOST, words(press_memory.ON, "press", press_memory.UNIT))
    try:
        end = time.monotonic() + 180
        while (least := available()) >= allowed and time.monotonic() < end:
            time.sleep(2)
        assert least < allowed
        time.sleep(10)
        assert available() < allowed
        now = read(HOST, "systemctl list-units --plain --no-legend --state=running --type=service | cut -d' ' -f1")
        assert set(running.splitlines()) <= set(now.splitlines())
    finally:
        read(HOST, words(press_memory.OFF, press_memory.UNIT))
    assert available() > before / 2
