"""Programs of the roles cpu and pcie: what they find otherwise on a host, and that they mend it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.ansible.fakes.plugin import plugin

cpu, pcie = plugin("cpu", "files", "cpu"), plugin("pcie", "files", "pcie")

CPU = {"governor": "performance", "idle_latency": 99, "transparent_hugepages": "madvise", "irq_affinity": "local"}
PCIE = {"acs": "SrcValid-", "max_read_request": 4096, "relaxed_ordering": "RlxdOrd+", "power_saving": "performance"}
IDLE = "sys/devices/system/cpu/cpu0/cpuidle"
HOST = {
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave",
    f"{IDLE}/state0/latency": "1", f"{IDLE}/state0/disable": "0",
    f"{IDLE}/state1/latency": "133", f"{IDLE}/state1/disable": "0",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/bus/pci/devices/0000:18:00.0/class": "0x020000", "sys/bus/pci/devices/0000:18:00.0/local_cpulist": "0-3,8",
    "sys/bus/pci/devices/0000:18:00.0/msi_irqs/45": "msix", "proc/irq/45/smp_affinity_list": "0-15",
    "sys/bus/pci/devices/0000:18:00.0/msi_irqs/46": "msix", "proc/irq/46/smp_affinity_list": "2",
    "sys/bus/pci/devices/0000:01:00.0/class": "0x010802", "sys/bus/pci/devices/0000:01:00.0/local_cpulist": "0-3",
    "sys/bus/pci/devices/0000:01:00.0/msi_irqs/50": "msix", "proc/irq/50/smp_affinity_list": "0-15",
}  # fmt: skip
"""A host of 16 CPUs with a NIC and a drive."""


def _host(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def _run(
    program: ModuleType, mode: str, settings: dict[str, Any], root: Path, capsys: pytest.CaptureFixture[str]
) -> str:
    program.main(mode, json.dumps(settings), root)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
        (f"{IDLE}/state0/disable", "0\n"),
        (f"{IDLE}/state1/disable", "1"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
        ("proc/irq/45/smp_affinity_list", "0-3,8"),
        ("proc/irq/46/smp_affinity_list", "2\n"),
        ("proc/irq/50/smp_affinity_list", "0-15\n"),
    ],
    ids=[
        "governor",
        "fast-sleep-stays",
        "slow-sleep",
        "huge-pages",
        "far-interrupt",
        "near-interrupt-stays",
        "drive-stays",
    ],
)
def test_cpu_writes_what_is_otherwise_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, becomes: str
) -> None:
    """Each file is what the settings say; what was right, and what is not a NIC's, is not written."""
    _host(tmp_path, HOST)
    _run(cpu, "apply", CPU, tmp_path, capsys)
    assert (tmp_path / name).read_text() == becomes


def test_cpu_tells_without_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What apply would change is told, a line each."""
    _host(tmp_path, HOST)
    said = _run(cpu, "tell", CPU, tmp_path, capsys)
    assert len(said.splitlines()) == 4
    assert all((tmp_path / name).read_text() == f"{text}\n" for name, text in HOST.items())


def test_sleep_that_the_firmware_switched_off_stays_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A state that is fast enough is switched on only when it was we who switched it off."""
    _host(
        tmp_path,
        {f"{IDLE}/state0/latency": "1", f"{IDLE}/state0/disable": "1", f"{IDLE}/state0/default_status": "disabled"},
    )
    assert _run(cpu, "tell", CPU, tmp_path, capsys) == ""


def test_a_governor_that_the_driver_lacks_is_refused(tmp_path: Path) -> None:
    """The allowed ones are named, instead of the kernel's 'invalid argument'."""
    _host(tmp_path, HOST)
    with pytest.raises(SystemExit, match="performance or powersave is allowed"):
        cpu.main("apply", json.dumps(CPU | {"governor": "schedutil"}), tmp_path)


def test_a_write_that_is_refused_keeps_none_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel did not take is told at the end, by name."""
    _host(tmp_path, HOST)
    write = Path.write_text

    def refuses(path: Path, text: str) -> int:
        if path.name == "scaling_governor":
            raise OSError(5, "Input/output error")
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", refuses)
    with pytest.raises(SystemExit, match="scaling_governor did not take performance: Input/output error"):
        cpu.main("apply", json.dumps(CPU), tmp_path)
    assert (tmp_path / "sys/kernel/mm/transparent_hugepage/enabled").read_text() == "madvise"


def test_a_nic_that_is_near_no_cpu_keeps_its_interrupts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A NUMA node without CPUs has an empty list."""
    _host(tmp_path, HOST | {"sys/bus/pci/devices/0000:18:00.0/local_cpulist": ""})
    assert "proc/irq" not in _run(cpu, "tell", CPU, tmp_path, capsys)


def test_a_guest_without_clocks_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are not there are nothing to write."""
    assert _run(cpu, "apply", CPU, tmp_path, capsys) == ""


def _config(*, control: int = 0x2910, acs: int | None = None) -> bytearray:
    """Configuration space with PCI Express at 0x60 behind another capability, and access control behind another one."""
    config = bytearray(4096)
    config[0x34], config[0x40], config[0x41], config[0x60] = 0x40, 0x01, 0x60, 0x10
    struct.pack_into("<H", config, 0x68, control)
    struct.pack_into("<I", config, 0x100, 0x150 << 20 | 1 << 16 | 0x0001)
    if acs is not None:
        struct.pack_into("<IHH", config, 0x150, 1 << 16 | 0x000D, 0x001F, acs)
    return config


def _device(root: Path, name: str, config: bytes, *, kind: str = "0x020000", vendor: str = "0x15b3") -> Path:
    _host(root, {f"sys/bus/pci/devices/{name}/class": kind, f"sys/bus/pci/devices/{name}/vendor": vendor})
    path = root / "sys/bus/pci/devices" / name / "config"
    path.write_bytes(config)
    return path


@pytest.mark.parametrize(
    ("now", "settings", "becomes"),
    [
        (0x2910, {}, 0x5910),
        (0x2900, {}, 0x5910),
        (0x5910, {}, 0x5910),
        (0x5910, {"max_read_request": 512}, 0x5910),
        (0x2910, {"relaxed_ordering": "RlxdOrd-"}, 0x5900),
    ],
    ids=["512-bytes", "strict", "right", "more-than-least", "strict-wanted"],
)
def test_pcie_sets_control_of_nics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: int, settings: dict[str, Any], becomes: int
) -> None:
    """Bits of read request and ordering change, and no other; a larger request stays.

    Source: PCI Express base specification, device control: bits 14:12 read request (5: 4096 bytes), bit 4 ordering.
    """
    path = _device(tmp_path, "0000:18:00.0", _config(control=now))
    _run(pcie, "apply", PCIE | settings, tmp_path, capsys)
    assert struct.unpack_from("<H", path.read_bytes(), 0x68)[0] == becomes


@pytest.mark.parametrize(("wanted", "becomes"), [("SrcValid-", 0), ("SrcValid+", 0x1D)], ids=["off", "left"])
def test_pcie_takes_access_control_off_bridges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wanted: str, becomes: int
) -> None:
    """Or leaves it as the firmware set it."""
    path = _device(tmp_path, "0000:17:00.0", _config(acs=0x1D), kind="0x060400", vendor="0x1000")
    _run(pcie, "apply", PCIE | {"acs": wanted}, tmp_path, capsys)
    assert struct.unpack_from("<H", path.read_bytes(), 0x156)[0] == becomes
    assert struct.unpack_from("<H", path.read_bytes(), 0x68)[0] == 0x2910


@pytest.mark.parametrize(
    "config",
    [_config()[:256], bytes(64), b"\xff" * 4096, bytes(4096)],
    ids=["conventional", "short", "gone-from-the-bus", "no-capabilities"],
)
def test_pcie_survives_devices_without_what_it_looks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: bytes
) -> None:
    """Lists that are cut off, end nowhere or go in a circle are left."""
    path = _device(tmp_path, "0000:17:00.0", bytes(config), vendor="0x8086")
    assert _run(pcie, "apply", PCIE, tmp_path, capsys) == ""
    assert path.read_bytes() == bytes(config)


def test_pcie_names_a_device_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel that is locked down refuses; power saving is still set."""

    def locked(file: int, data: bytes, at: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    _device(tmp_path, "0000:18:00.0", _config(acs=0x1D))
    _host(tmp_path, {"sys/module/pcie_aspm/parameters/policy": "[default] performance powersave"})
    monkeypatch.setattr(pcie.os, "pwrite", locked)
    with pytest.raises(SystemExit, match=r"of 0000:18:00.0 is 0x001d.*could not be written: Operation not permitted"):
        pcie.main("apply", json.dumps(PCIE), tmp_path)
    assert (tmp_path / "sys/module/pcie_aspm/parameters/policy").read_text() == "performance"
    assert "device control of 0000:18:00.0" in capsys.readouterr().out


def test_pcie_tells_without_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each device and for power saving."""
    nic = _device(tmp_path, "0000:18:00.0", _config(acs=0x1D))
    _host(tmp_path, {"sys/module/pcie_aspm/parameters/policy": "[default] performance powersave"})
    said = _run(pcie, "tell", PCIE, tmp_path, capsys).splitlines()
    assert [line.partition(" says")[0].partition(" is 0x")[0] for line in said] == [
        "access control of 0000:18:00.0", "device control of 0000:18:00.0",
        f"{tmp_path}/sys/module/pcie_aspm/parameters/policy",
    ]  # fmt: skip
    assert nic.read_bytes() == _config(acs=0x1D)


def test_what_was_applied_is_found_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The readback of a run is empty."""
    _device(tmp_path, "0000:18:00.0", _config(acs=0x1D))
    assert _run(pcie, "apply", PCIE, tmp_path, capsys) != ""
    assert _run(pcie, "tell", PCIE, tmp_path, capsys) == ""
