"""Rails between two machines: RDMA by the kernel over any NIC, measured by perftest, and judged as on real hosts."""

from __future__ import annotations

import re
import subprocess

import pytest

from infra.plan.hosts import Outcome
from runbooks.lib.acceptance import perftest
from tests.hosts_vm.site import CONFIG, Plays, read, ssh

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

ROLES = ["rdma"]


@pytest.fixture(scope="module")
def pair(plays: Plays) -> tuple[str, str]:
    """Two machines whose rails are up."""
    done = plays.play("tune", tune_roles=ROLES)
    assert done.status == 0, done.log
    return "vm-0", "vm-1"


@pytest.mark.parametrize("rail", [0, 1])
def test_full_packets_pass_on_each_rail(pair: tuple[str, str], rail: int) -> None:
    """4200 bytes in one piece, from the rail's own address."""
    said = ssh(pair[0], f"ping -c 3 -M do -s 4172 -I 10.{10 + rail}.0.10 10.{10 + rail}.0.11").stdout
    assert " 0% packet loss" in said


def test_a_rail_answers_for_itself_alone(pair: tuple[str, str]) -> None:
    """No NIC tells the address of another: else RDMA goes astray while ping works."""
    read(pair[0], "ip neigh flush all")
    ssh(pair[0], "ping -c 1 -W 2 -I rail0 10.11.0.11")
    assert "lladdr" not in read(pair[0], "ip neigh show 10.11.0.11 dev rail0")


@pytest.mark.parametrize("rail", [0, 1])
def test_ib_write_bw_passes_between_the_machines(pair: tuple[str, str], rail: int) -> None:
    """It is read as on real hosts: full MTU, a figure, no fault; nobody has a floor for this board."""
    options = f"-d rxe_rail{rail} -x 1 --report_gbits -s 65536 -n 200 -F"
    argv = ["ssh", "-F", str(CONFIG), pair[1], f"timeout 120 ib_write_bw {options}"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        ready = "for i in $(seq 60); do ss -ltn | grep -q :18515 && exit; sleep 1; done; exit 1"
        assert ssh(pair[1], ready).returncode == 0
        said = read(pair[0], f"timeout 120 ib_write_bw {options} 10.{10 + rail}.0.11")
        server.communicate(timeout=120)
    found = list(perftest.parse(said))
    assert [(one.device, one.mtu) for one in found] == [(f"rxe_rail{rail}", 4096)], said
    assert found[0].gbit is not None
    assert found[0].gbit > 0
    (verdict,) = perftest.judge(said, None, "roce")
    assert (verdict.outcome, verdict.causes) == (Outcome.UNKNOWN, ())


def test_a_peer_that_is_not_there_is_named(pair: tuple[str, str]) -> None:
    """The fault is told, not a figure."""
    done = ssh(pair[0], "ib_write_bw -d rxe_rail0 -x 1 10.10.0.11 2>&1")
    verdicts = perftest.judge(done.stdout, None, "roce")
    assert [cause.name for verdict in verdicts for cause in verdict.causes] == ["no peer answers"]
    assert re.search(r"Couldn't connect", done.stdout)
