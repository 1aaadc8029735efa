"""Checks that say what was found, where, and what to do; and the faults that public reports were about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.catalog.host_tuning import Answer
from infra.plan.hosts import Check, Outcome, Wanted, judge
from infra.plan.hosts.judge import EVIDENCE
from tests.unit.catalog.host_tuning.samples import EACH, answers, item
from tests.unit.catalog.host_tuning.samples.form import Said, policy
from tests.unit.catalog.host_tuning.samples.gpus import SWITCH_NICS, UMADS, fabric, masks, smi
from tests.unit.catalog.host_tuning.samples.machine import gpus, lspci
from tests.unit.catalog.host_tuning.samples.rails import DEVICE, LINKS, TWINS, devinfo, mlxconfig


def _checked(name: str, *said: Said) -> Check:
    wanted = item(EACH[name])
    return judge(wanted, answers(wanted, said))


def _sysctl(live: str, **folders: dict[str, str]) -> Check:
    files = (folders.get(name) for name in ("usr", "local", "run", "etc"))
    return _checked("kernel_settings.numa_balancing", live, *files)


def test_a_file_that_wins_at_boot_is_named() -> None:
    """The live value is right today, and lost at the next boot."""
    check = _sysctl("0\n", etc={"/etc/sysctl.d/90-railwright.conf": "kernel.numa_balancing = 0\n",
                                "/etc/sysctl.d/99-cloudimg.conf": "kernel.numa_balancing=1\n"})  # fmt: skip
    assert (check.outcome, check.evidence) == (Outcome.FAIL, "/etc/sysctl.d/99-cloudimg.conf at boot: 1")


@pytest.mark.parametrize(
    ("folders", "outcome"),
    [
        ({"etc": {"/etc/sysctl.d/50-a.conf": "-kernel/numa_balancing = 0"}}, Outcome.PASS),
        ({"usr": {"/usr/lib/sysctl.d/60-a.conf": "kernel.numa_balancing=1"},
          "etc": {"/etc/sysctl.d/50-b.conf": "kernel.numa_balancing=0"}}, Outcome.FAIL),
        ({"usr": {"/usr/lib/sysctl.d/60-a.conf": "kernel.numa_balancing=1"},
          "etc": {"/etc/sysctl.d/60-a.conf": "# emptied"}}, Outcome.PASS),
        ({"etc": {"/etc/sysctl.d/10-a.conf": "kernel.numa_balancing=0", "/etc/sysctl.d/20-b.conf": "kernel.numa_*=1"}},
         Outcome.PASS),
        ({"run": {"/run/sysctl.d/70-a.conf": "kernel.numa_*=1"}}, Outcome.FAIL),
        ({"etc": {"/etc/sysctl.d/50-a.conf": "# kernel.numa_balancing=1\n; kernel.numa_balancing=1"}}, Outcome.PASS),
    ],
    ids=["slashes and a dash", "the later name wins, not the folder", "a hidden file", "a glob loses", "a glob alone",
         "comments"],
)  # fmt: skip
def test_sysctl_files_are_read_as_systemd_reads_them(folders: dict[str, dict[str, str]], outcome: Outcome) -> None:
    """By name over all folders, the later one wins; a file hides its namesake. Source: sysctl.d(5)."""
    assert _sysctl("0\n", **folders).outcome is outcome


def test_only_what_is_wrong_is_evidence() -> None:
    """Seven GPUs that are right say nothing."""
    check = _checked("nvidia_driver.persistence", smi(wrong="persistence_mode", cell="Disabled"))
    assert (check.found, check.evidence) == ("Disabled", "00000000:17:00.0: Disabled")


def test_many_cpus_are_told_in_few_words() -> None:
    """The different values, not 256 times the same one; and evidence has an end."""
    files = {f"/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": f"g{n % 6}\n" for n in range(256)}
    check = _checked("cpu.governor", files)
    assert check.found == "g0, g1, g2, g3 and 2 more"
    assert len(check.evidence) == EVIDENCE


def test_what_to_do_is_the_variable_or_the_hand() -> None:
    """A role's setting names its variable and the reboot; a repair says what to repair."""
    assert _checked("pcie.iommu", "ro quiet").action == "set pcie_iommu and play role pcie, then reboot"
    assert "reseat" in _checked("pcie.nic_links", lspci(width="x8 (downgraded)")).action


@pytest.mark.parametrize(
    ("name", "said", "outcome", "found"),
    [
        ("cpu.governor", (None,), Outcome.UNKNOWN, "there is no /sys/devices/system/cpu"),
        ("pcie.acs", ("16:00.0 garbled",), Outcome.UNKNOWN, "no place says it"),
        ("pcie.acs", (lspci() + "\n0000:17:00.0 PCI bridge [0604]: A [1000:c030]\n\tCapabilities: <access denied>\n",),
         Outcome.UNKNOWN, "it needs root"),
        ("nvidia_driver.ecc_errors", (smi(wrong="ecc.errors.uncorrected.volatile.total", cell="[N/A]"),),
         Outcome.UNKNOWN, "nvidia-smi says"),
        ("nvidia_driver.rows_pending", ("00000000:1B:00.0, No\n",), Outcome.UNKNOWN, "nvidia-smi says"),
        ("nvidia_driver.nvlinks", ("Unable to determine\n",), Outcome.UNKNOWN, "no place says it"),
        ("nvidia_driver.fabric_state", (fabric("N/A", "N/A"),), Outcome.FAIL, "N/A"),
        ("nvidia_driver.dma_buf", ("5.9.0-x\n",), Outcome.FAIL, "5.9"),
        ("nvidia_driver.peermem", ("nvidia_peermem 1 0 - Live\n", None), Outcome.FAIL, "loaded, and not registered"),
        ("rdma.port_state", ("[]", devinfo(), None), Outcome.UNKNOWN, "no RDMA device is on ens1"),
        ("rdma.port_state", (LINKS, devinfo(), None), Outcome.PASS, "PORT_ACTIVE"),
        ("rdma.port_state", (LINKS, "No IB devices found\n", DEVICE), Outcome.UNKNOWN, "does not list mlx5_0"),
        ("rdma.ats", (mlxconfig(ATS_ENABLED="True(1) False(0)"),), Outcome.FAIL, "1"),
        ("rdma.link_type", ("-E- Failed to open device\n",), Outcome.UNKNOWN, "no place says it"),
        ("time_sync.state", ("506 Cannot talk to daemon\n",), Outcome.UNKNOWN, "does not track"),
        ("cpu.hugepages_1g", (None,), Outcome.PASS, "0"),
        ("time_sync.source", ("", "7F7F0101,,10,1764680000.1,0,0,0,0,0,0,0,0,0,Normal\n"), Outcome.PASS, "1"),
        ("storage.level", ("/dev/nvme0n1 /var/lib/railwright/models xfs rw 0 0\n", "md0 : active raid1 a\n"),
         Outcome.PASS, "one drive"),
        ("storage.level", ("/dev/md0 /var/lib/railwright/models xfs rw 0 0\n", ""), Outcome.UNKNOWN, "does not list"),
        ("storage.read_ahead", ("/dev/sda1 / ext4 rw 0 0\n", "128\n"), Outcome.UNKNOWN, "nothing is mounted"),
        ("kubelet.gpus", ("{}",), Outcome.UNKNOWN, "cannot be read"),
        ("node_health.power_supplies", ("",), Outcome.UNKNOWN, "nothing is listed"),
        ("kernel_settings.memlock", ("# nothing\n", None), Outcome.FAIL, "unset"),
        ("nvidia_driver.pinned", ("", ""), Outcome.UNKNOWN, "no package is listed"),
        ("nvidia_driver.pinned", ("nvidia-open 580.1-1 ii \n", ""), Outcome.UNKNOWN, "apt does not say"),
        ("nvidia_driver.pinned", ("nvidia-open 580.1-1 hi \nvim 9 ii \n", ""), Outcome.PASS, "kept"),
        ("nvidia_driver.pinned", ("vim 9 ii \nnvidia-open 580.1-1 un \n", ""), Outcome.PASS, "kept"),
        ("nvidia_driver.pinned", ("nvidia-open 595.1-1 ii \n", policy(nvidia_open="595.1-1 580.1-1")), Outcome.FAIL,
         "595.1-1 to 580.1-1"),
        ("nvidia_driver.pinned", ("libnvidia-gl 1-1 ii \nlibnvidia-gl 1-1 ii \n",
                                  policy(libnvidia_gl="1-1 1-1", **{"libnvidia-gl:i386": "1-1 2-1"})), Outcome.FAIL,
         "1-1 to 2-1"),
        ("nvidia_driver.management_ports", (SWITCH_NICS, None, masks("0x1", "0x1")), Outcome.FAIL, "0"),
        ("nvidia_driver.management_ports", (None, UMADS, masks("0x1", "0x1")), Outcome.FAIL, "0"),
        ("nvidia_driver.management_ports", (SWITCH_NICS, UMADS, masks("x", "0x1")), Outcome.UNKNOWN, "no capability"),
        ("nvidia_driver.gpus_agree", (gpus(8), None, smi()), Outcome.FAIL, "0, 8"),
        ("rdma.nccl_rails", ("NCCL_CROSS_NIC=2\n", TWINS), Outcome.PASS, "0"),
        ("rdma.nccl_rails", (None, TWINS), Outcome.PASS, "0"),
        ("rdma.nccl_rails", ("NCCL_CROSS_NIC=0\n", TWINS), Outcome.FAIL, "2"),
        ("rdma.nccl_rails", ("NCCL_CROSS_NIC=0\nNCCL_IB_HCA==mlx5_0:1:0,mlx5_1:1\n", TWINS), Outcome.FAIL, "1"),
        ("cpu.irqbalance", ("LoadState=masked\nActiveState=inactive\n",), Outcome.PASS, "masked"),
        ("rdma.nccl_devices", ("NCCL_IB_HCA=^=mlx5_9\n",), Outcome.PASS, "0"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_not_taken_for_right(
    name: str, said: tuple[Said, ...], outcome: Outcome, found: str
) -> None:
    """Garbled, cut off, empty, refused: unknown; said and wrong: fail."""
    check = _checked(name, *said)
    assert (check.outcome, found in check.found) == (outcome, True), check


def test_a_rail_that_nobody_names_cannot_be_told() -> None:
    """It is no pass."""
    setting = EACH["rdma.port_state"]
    check = judge(Wanted(setting, "PORT_ACTIVE", (), ""), {})
    assert (check.outcome, check.found) == (Outcome.UNKNOWN, "the inventory does not say the rail, or its PCI address")


def test_a_missing_program_is_an_answer_only_where_it_may_be_missing() -> None:
    """mlxreg may; lspci may not; one that is there and fails tells nothing in either case."""
    for name, status, outcome in (
        ("rdma.rtt_congestion_control", 127, Outcome.PASS),
        ("rdma.rtt_congestion_control", 1, Outcome.UNKNOWN),
        ("pcie.acs", 127, Outcome.UNKNOWN),
    ):
        wanted = item(EACH[name])
        assert judge(wanted, dict.fromkeys(wanted.readings, Answer({"": ""}, status))).outcome is outcome


def test_huge_pages_of_a_size_that_the_cpu_lacks_are_missing() -> None:
    """They pass where none are wanted, and only there."""
    wanted = replace(item(EACH["cpu.hugepages_1g"]), value=4)
    assert judge(wanted, answers(wanted, (None,))).outcome is Outcome.FAIL


def test_what_is_wanted_is_told_with_unit_and_bound() -> None:
    """As people say it."""
    wanted = item(EACH["rdma.mtu"])
    assert judge(wanted, {}).wanted == "at least 4200 bytes"
    assert judge(replace(wanted, value=9_000), {}).wanted == "at least 9000 bytes"
    assert judge(item(EACH["cpu.all_online"]), {}).wanted == "the same everywhere"
