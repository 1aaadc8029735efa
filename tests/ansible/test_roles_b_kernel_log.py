"""The program that counts faults in a host's kernel log: it agrees with the runbooks' reader, and loses no line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from infra.catalog import xids
from infra.document.kernel_faults import PATH, table, written
from runbooks.lib.hosts import kernel_log as runbook


def _load() -> ModuleType:
    spec = spec_from_file_location("program_kernel_log", PATH.with_name("kernel_log.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program = _load()
TABLE: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
NOW = datetime(2026, 12, 2, tzinfo=UTC)

XIDS = [f"NVRM: Xid (PCI:0000:9b:00): {code}, pid=7, name=python3" for codes in xids.ACTIONS.values() for code in codes]
SXIDS = [
    f"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): {code}, {word}, Link 30 fault"
    for code in [*(code for codes in xids.SXIDS.values() for code in codes), 99999]
    for word in ("Fatal", "Non-fatal", "Other")
]
SAID = [
    f"NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 ({words})"
    for words in [*xids.DRIVER_SAYS, "Something New"]
]
NICS = [
    "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, High Temperature",
    "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, Bus stuck",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable unplugged",
    "mlx5_core 0000:18:00.0: mlx5_pcie_event:301:(pid 1): Detected insufficient power on the PCIe slot (25W).",
    "mlx5_core 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:17:00.0",
    "mlx5_core 0000:18:00.0: device's health compromised - reached miss count",
    "mlx5_core 0000:18:00.0: print_health_info:431:(pid 0): synd 0x8: unrecoverable hardware error",
    "mlx5_core 0000:18:00.0: firmware internal error",
    "mlx5_core 0000:18:00.0: wait_func:1195:(pid 9): MODIFY_CQ(0x403) timeout. Will cause a leak of a command resource",
    "NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 12 timed out",
    "mlx5_core 0000:18:00.0: mlx5_cmd_out_err:808:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed",
    "mlx5_core 0000:18:00.0 ens1f0np0: Link down",
    "mlx5_core ens1f0np0: Link down",
    "mlx5_0: Link down",
]
OTHER = [
    "NVRM: Xid (PCI:0000:9b:00): pid=7, no code",
    "NVRM: Xid (0000:9b:00): 31, Ch 00000010",
    "NVRM: Xid (PCI:0000:9b:00): 999, new",
    "NVRM: loading NVIDIA UNIX Open Kernel Module",
    "mlx5_core 0000:18:00.0 ens1f0np0: Link up",
    "eth0: Link down",
]


@pytest.mark.parametrize("line", [*XIDS, *SXIDS, *SAID, *NICS, *OTHER])
def test_it_reads_a_line_as_the_runbooks_do(line: str) -> None:
    """Kind, device, code, name and what to do, of every code in the table."""
    found = [(one.kind, one.device, str(one.code), one.name, one.action) for one in runbook.faults([line], now=NOW)]
    labels = program.fault(line, TABLE)
    assert ([labels] if labels else []) == found


def test_its_table_is_fresh() -> None:
    """Run `python -m infra.document.kernel_faults` after a change of the catalogue."""
    assert {path: path.read_text(encoding="utf-8") for path in written()} == written()
    assert len(table()["nic"]) == len(xids.NIC_FAULTS)


def _entries(*messages: object) -> Iterator[dict[str, Any]]:
    for number, message in enumerate(messages):
        yield {"__CURSOR": f"c{number}", "__REALTIME_TIMESTAMP": f"{1764680000 + number}000000", "MESSAGE": message}


def test_counts_go_on_from_the_last_look() -> None:
    """Each line once, each device for itself; text that is none is passed over, and the place moves on."""
    line, other = XIDS[0], XIDS[0].replace("9b", "1b")
    first = program.counted({"boot": "b"}, _entries(line, other, [72, 105]), TABLE)
    second = program.counted(json.loads(json.dumps(first)), _entries(line), TABLE)
    assert (first["cursor"], second["cursor"]) == ("c2", "c0")
    assert sorted((row[0][1], row[1], row[2]) for row in second["rows"]) == [
        ("0000:1b:00", 1, 1764680001),
        ("0000:9b:00", 2, 1764680000),
    ]


def test_metrics_are_what_node_exporter_reads() -> None:
    """Words are escaped; a quiet log still says when it was read."""
    rows = [[["nic", 'a"b\\c', "0", "link down", "read the link errors"], 3, 1764680000]]
    labels = 'kind="nic",device="a\\"b\\\\c",code="0",name="link down",action="read the link errors"'
    assert program.page({"rows": rows}, 1764680060.7).splitlines()[2::3] == [
        f"railwright_kernel_faults_total{{{labels}}} 3",
        f"railwright_kernel_fault_last_seconds{{{labels}}} 1764680000",
        "railwright_kernel_log_read_seconds 1764680060",
    ]
    assert program.page({"rows": []}, 1.0).endswith("railwright_kernel_log_read_seconds 1\n")


@pytest.mark.parametrize(("boot", "asked"), [("b", "c7"), ("other", "")], ids=["same-boot", "after-a-boot"])
def test_it_asks_for_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boot: str, asked: str) -> None:
    """After a boot all of the new log is new, and counts go on."""
    row = [["xid", "0000:9b:00", "79", "", "restart the host"], 1, 5]
    place, asks = tmp_path / "state.json", []
    place.write_text(json.dumps({"boot": boot, "cursor": "c7", "rows": [row]}))
    monkeypatch.setattr(program, "boot_id", lambda: "b")
    monkeypatch.setattr(program, "entries", lambda cursor: asks.append(cursor) or _entries(XIDS[0]))
    program.main(str(PATH), str(place), str(tmp_path / "metrics/a.prom"))
    assert asks == [asked]
    assert json.loads(place.read_text())["boot"] == "b"
    assert (tmp_path / "metrics/a.prom").read_text().count("railwright_kernel_faults_total{") == 2


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Nothing else is left beside it."""
    program.replaced(tmp_path / "a.prom", "1\n")
    program.replaced(tmp_path / "a.prom", "2\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.prom", "2\n")]
