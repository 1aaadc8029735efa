"""Lines of a kernel's log become faults of devices, each with what it asks for; nothing unreadable is passed over."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from infra.catalog.xids import ACTIONS, NIC_FAULTS, SERIOUS, SXIDS, Action
from runbooks.lib.hosts.kernel_log import Fault, faults, news, standing, worst

NOW = datetime(2027, 1, 5, 12, 0, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:9b:00): {code}, pid=4711, name=python3, Ch 00000008"
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): {code}, {text}"
NIC = "mlx5_core 0000:18:00.0: {text}"


def _one(line: str, boot: datetime | None = None) -> Fault:
    (found,) = faults([line], now=NOW, boot=boot)
    return found


def _actions(lines: Iterable[str]) -> list[Action]:
    return [one.action for one in faults(lines, now=NOW)]


@pytest.mark.parametrize(("action", "code"), [(action, code) for action, codes in ACTIONS.items() for code in codes])
def test_every_xid_of_the_table_is_read(action: Action, code: int) -> None:
    """With its GPU, its code and its action; 154 has its own in the text."""
    found = _one(f"[ 8541.002] {XID.format(code=code)}")
    assert (found.kind, found.device, found.code) == ("xid", "0000:9b:00", code)
    assert found.action is (Action.ASK if action is Action.DRIVER_SAYS else action)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("from 0x0 (None) to 0x1 (GPU Reset Required)", Action.RESET_GPU),
        ("from 0x0 (None) to 0x2 (Node Reboot Required)", Action.RESTART_HOST),
        ("from 0x0 (None) to 0x2 (OS Reboot)", Action.RESTART_HOST),
        ("from 0x1 (GPU Reset Required) to 0x4 (Drain and Reset)", Action.RESET_GPU),
        ("from 0x1 (GPU Reset Required) to 0x0 (None)", Action.IGNORE),
        ("from 0x0 (None) to 0x9 (Something New)", Action.ASK),
        ("", Action.ASK),
    ],
    ids=["reset", "reboot", "reboot, as driver 610 says it", "drain and reset", "over", "a new word", "no word"],
)
def test_xid_154_asks_for_what_its_text_says(text: str, action: Action) -> None:
    """A text that nobody knows is for a person, and is not passed over."""
    line = f"NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed {text}"
    assert _actions([line]) == [action]


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("NVRM: Xid (PCI:0000:66:00): abc, pid=2280636", Action.ASK),
        ("NVRM: Xid (PCI:0000:66:00): 9999, something", Action.ASK),
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): garbled, Fatal", Action.ASK),
        (SXID.format(code=10099, text="Link 3 of a new kind"), Action.ASK),
        ("NVRM: Xid (0000:03:00): 79, GPU has fallen off the bus.", Action.RESTART_HOST),
    ],
    ids=["no code", "an unknown code", "no code of a switch", "neither fatal nor not", "without PCI:"],
)
def test_what_cannot_be_read_is_for_a_person(line: str, action: Action) -> None:
    """A code is never invented; the oldest form of the line is read too."""
    assert _actions([line]) == [action]


@pytest.mark.parametrize(
    "text",
    [
        "119, pid=4711, name=python3, Timeout waiting for RPC from GSP! Expected function 76 (GSP_RM_CONTROL)",
        "119, pid='<unknown>', name=<unknown>, Timeout waiting for RPC from GSP2! Expected function 103 (GSP_RM_ALLOC)",
        "119, pid=1802, name=nvc:[driver], Timeout after 45s of waiting for RPC response from GPU6 GSP! Expected "
        "function 76 (GSP_RM_CONTROL) sequence 412 (0x2080a7d7 0x240).",
        "120, GSP task exception: Load access page fault (cause:0xd)",
    ],
    ids=["the first form", "of one of several, unknown process", "with its patience", "an exception"],
)
def test_a_gpu_whose_gsp_is_deaf_is_reset_then_gets_a_newer_driver(text: str) -> None:
    """Whatever the driver's words for it (open-gpu-kernel-modules#446, #1048)."""
    line = f"[   84.7] NVRM: Xid (PCI:0000:9b:00): {text}"
    assert _one(line).said.endswith(": reset the GPU; upgrade the driver if that comes again")


@pytest.mark.parametrize(("action", "code"), [(action, code) for action, codes in SXIDS.items() for code in codes])
def test_every_sxid_of_the_table_is_read(action: Action, code: int) -> None:
    """Where the switch calls it not fatal, as the table has it."""
    found = _one(SXID.format(code=code, text="Non-fatal, Link 44"))
    assert (found.kind, found.device, found.code, found.action) == ("sxid", "0000:c1:00.0", code, action)


@pytest.mark.parametrize(
    ("code", "text", "action"),
    [
        (20034, "Fatal, Link 30 LTSSM Fault Up", Action.RESET_FABRIC),
        (20009, "Non-fatal, Link 28 RX Short Error Rate", Action.IGNORE),
        (23001, "Fatal, Link 12 ingress SRC-VC buffer overflow", Action.RESTART_HOST),
        (11012, "Fatal, Link 12", Action.RESET_FABRIC),
    ],
    ids=["fatal", "not fatal", "always fatal", "fatal this time"],
)
def test_a_switch_says_whether_it_is_fatal(code: int, text: str, action: Action) -> None:
    """And what the table knows to be worse stays worse."""
    assert _one(SXID.format(code=code, text=text)).action is action


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Port module event[error]: module 0, Cable error, High Temperature", "hot module"),
        ("Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)", "bad module"),
        ("Port module event: module 0, Cable unplugged", "no module"),
        ("mlx5_pcie_event:299:(pid 268): Detected insufficient power on the PCIe slot (27W).", "too little power"),
        ("63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:15:01.0", "slow PCIe link"),
        ("poll_health:825:(pid 0): device's health compromised - reached miss count", "firmware gone"),
        ("print_health_info:431: synd 0x8: unrecoverable hardware error.", "firmware fault"),
        ("print_health_info:431: synd 0x1: firmware internal error", "firmware fault"),
        ("wait_func:1195:(pid 112): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
         "firmware deaf"),
        ("mlx5_cmd_out_err:838:(pid 14): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2)",
         "refused register"),
        ("ens1f0np0: Link down", "link down"),
    ],
)  # fmt: skip
def test_every_fault_of_a_nic_is_read(text: str, name: str) -> None:
    """By its PCI address, which is what stays the same."""
    found = _one(f"[    5.1] {NIC.format(text=text)}")
    assert (found.kind, found.device, found.name) == ("nic", "0000:18:00.0", name)


def test_every_row_of_the_nic_table_is_seen() -> None:
    """Those above and the two that name no PCI address."""
    watchdog = _one("NETDEV WATCHDOG: ens1 (mlx5_core): transmit queue 0 timed out 5000 ms")
    assert (watchdog.name, watchdog.device) == ("stuck queue", "ens1")
    assert _one("mlx5_core enp1s0f0np0: Link down").device == "enp1s0f0np0"
    marks = test_every_fault_of_a_nic_is_read.pytestmark  # type: ignore[attr-defined]  # set by parametrize
    seen = {name for _, name in marks[0].args[1]} | {"stuck queue"}
    assert {fault.name for fault in NIC_FAULTS} == seen


@pytest.mark.parametrize(
    "line",
    [
        "",
        "mlx5_core 0000:18:00.0: firmware version: 28.39.1002",
        "mlx5_core 0000:18:00.0 ens1f0np0: Link up",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08",
        "e1000e 0000:00:1f.6 eno1: NIC Link is Down",
        "audit: user said NVRM: Xid and nothing else",
    ],
)
def test_other_lines_are_no_faults(line: str) -> None:
    """Neither what drivers say when all is well, nor other drivers."""
    assert _actions([line]) == []


BOOT = datetime(2027, 1, 5, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "at"),
    [
        ("[ 3600.500000] ", datetime(2027, 1, 5, 11, 0, 0, 500_000, tzinfo=UTC)),
        ("<3>[ 3600.500000] ", datetime(2027, 1, 5, 11, 0, 0, 500_000, tzinfo=UTC)),
        ("3,812,3600500000,-;", datetime(2027, 1, 5, 11, 0, 0, 500_000, tzinfo=UTC)),
        ("2027-01-05T13:00:00,500000+02:00 ", datetime(2027, 1, 5, 11, 0, 0, 500_000, tzinfo=UTC)),
        ("2027-01-05T11:00:00+0000 b300-01 kernel: ", datetime(2027, 1, 5, 11, 0, tzinfo=UTC)),
        ("2027-01-05T11:00:00.250Z b300-01 kernel: ", datetime(2027, 1, 5, 11, 0, 0, 250_000, tzinfo=UTC)),
        ("[Tue Jan  5 11:00:00 2027] ", datetime(2027, 1, 5, 11, 0, tzinfo=UTC)),
        ("Jan  5 11:00:00 b300-01 kernel: [ 3600.5] ", datetime(2027, 1, 5, 11, 0, tzinfo=UTC)),
        ("Dec 31 23:59:59 b300-01 kernel: ", datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("Jan  6 11:00:00 b300-01 kernel: ", datetime(2027, 1, 6, 11, 0, tzinfo=UTC)),
        ("Jan  7 12:00:01 b300-01 kernel: ", datetime(2026, 1, 7, 12, 0, 1, tzinfo=UTC)),
        ("Feb 29 08:00:00 b300-01 kernel: ", datetime(2024, 2, 29, 8, 0, tzinfo=UTC)),
        ("Feb 30 08:00:00 b300-01 kernel: ", None),
        ("yesterday ", None),
    ],
    ids=["dmesg", "dmesg --raw", "/dev/kmsg", "dmesg --time-format iso", "journalctl -o short-iso", "syslog, RFC 5424",
         "dmesg -T", "syslog", "syslog of last year", "a clock that is ahead", "too far ahead: of last year",
         "a leap day", "no day", "no time"],
)  # fmt: skip
def test_every_way_to_write_a_time_is_read(before: str, at: datetime | None) -> None:
    """A line without a year is of the last one that is not ahead of us (Azure NHC read them as of this year)."""
    assert _one(before + XID.format(code=79), BOOT).at == at


def test_seconds_since_boot_mean_nothing_without_a_boot() -> None:
    """The fault is told all the same."""
    assert _one(f"[ 8541.002] {XID.format(code=79)}").at is None


def _at(seconds: int, code: int = 79) -> str:
    return f"{(BOOT + timedelta(seconds=seconds)).isoformat()} host kernel: {XID.format(code=code)}"


def test_a_fault_is_told_once_until_it_was_quiet() -> None:
    """A storm of lines is one; another code, and the same one later, are others."""
    lines = [_at(0), _at(30), _at(80), _at(80, code=31), _at(141), _at(100_000)]
    told = list(news(faults(lines, now=NOW)))
    assert [(one.code, one.at) for one in told] == [
        (79, BOOT), (31, BOOT + timedelta(seconds=80)), (79, BOOT + timedelta(seconds=141)),
        (79, BOOT + timedelta(seconds=100_000)),
    ]  # fmt: skip


def test_of_a_device_the_worst_counts() -> None:
    """A double-bit error beside an uncontained one is a reset (Xid 48 with 95), and each device stands for itself."""
    lines = [XID.format(code=45), XID.format(code=48), XID.format(code=95), XID.format(code=13),
             "NVRM: Xid (PCI:0000:14:00): 13, pid=1"]  # fmt: skip
    assert {device: one.code for device, one in worst(faults(lines, now=NOW)).items()} == {
        "0000:9b:00": 95, "0000:14:00": 13,
    }  # fmt: skip


def test_a_link_that_came_back_is_no_fault_any_more() -> None:
    """The last word counts; at boot every link is down first."""
    said = ("18", "down"), ("3c", "down"), ("18", "up"), ("3c", "up"), ("3c", "down")
    lines = [f"mlx5_core 0000:{bus}:00.0 ens{bus}: Link {state}" for bus, state in said]
    left = standing(faults(lines, now=NOW), lines)
    assert {one.device for one in left} == {"0000:3c:00.0"}


def test_what_is_said_names_device_code_and_action() -> None:
    """In one line, with the case of its coming again."""
    said = [one.said for one in faults([XID.format(code=79), NIC.format(text="Port module event[error]: x")], now=NOW)]
    assert said == [
        "0000:9b:00 Xid 79: restart the host; replace it if that comes again",
        "0000:18:00.0 NIC: bad module: check cables, power and seating",
    ]


def test_serious_codes_are_those_that_somebody_must_see_to() -> None:
    """Applications' own faults, and what is to be ignored, wake nobody."""
    assert {79, 95, 154, 48} <= set(SERIOUS)
    assert not {13, 31, 43, 45, 63, 94, 170} & set(SERIOUS)
