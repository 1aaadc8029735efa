"""NVIDIA's driver and GPUs."""

from __future__ import annotations

from infra.catalog.host_tuning.parsers.nvidia import COLUMNS
from tests.unit.catalog.host_tuning.samples.form import ACTIVE, INACTIVE, NOT_FOUND, Sample, one, policy, unit
from tests.unit.catalog.host_tuning.samples.machine import gpus

RIGHT = dict(zip(COLUMNS, (
    "00000000:{bus:02X}:00.0", "NVIDIA B300 SXM6 AC", "580.126.09", "97.10.4C.00.0B", "Enabled", "1100.00", "275040",
    "Enabled", "0", "Disabled", "6", "16", "Not Active",
), strict=True))  # fmt: skip
"""One GPU as nvidia-smi says it, column to cell."""


def smi(count: int = 8, wrong: str = "", cell: str = "") -> str:
    """What nvidia-smi says of the GPUs of a host; of the last one a column may be wrong."""
    changed = {**RIGHT, wrong: cell} if wrong else RIGHT
    rows = [RIGHT if n < count - 1 else changed for n in range(count)]
    return "".join(", ".join(row.values()).format(bus=16 + n) + "\n" for n, row in enumerate(rows))


def _column(name: str, wrong: str) -> Sample:
    return one(smi(), smi(wrong=name, cell=wrong))


def fabric(state: str, status: str) -> str:
    """The fabric's part of ``nvidia-smi -q``."""
    return (
        "GPU 00000000:1B:00.0\n    Product Name                          : NVIDIA B300 SXM6 AC\n    Fabric\n"
        f"        State                             : {state}\n        Status                            : {status}\n"
        "        CliqueId                          : 0\n"
    )


def _nvlinks(last: str) -> str:
    rows = [f"\t Link {n}: 53.125 GB/s\n" for n in range(17)]
    return "GPU 0: NVIDIA B300 SXM6 AC (UUID: GPU-1)\n" + "".join(rows) + f"\t Link 17: {last}\n"


def _option(key: str, right: int) -> Sample:
    return one(f"EnableMSI: 1\n{key}: {right}\n", f"EnableMSI: 1\n{key}: {1 - right}\n")


SWITCH_NICS = {f"/sys/class/infiniband/mlx5_{n}/device/vpd": "\x82" + "SW_MNG" * (n > 0) for n in range(3)}
"""One of a rail, two of the switches."""
UMADS = {f"/sys/class/infiniband_mad/umad{n}/ibdev": f"mlx5_{n}\n" for n in range(3)}


def masks(*switches: str) -> dict[str, str]:
    """Capability masks of a rail's port, which lets a subnet manager work, and of the two of the switches."""
    said = enumerate(("0xa751e848", *switches))
    return {f"/sys/class/infiniband/mlx5_{n}/ports/1/cap_mask": f"{mask}\n" for n, mask in said}


def _driven(count: int) -> dict[str, str]:
    return {f"/proc/driver/nvidia/gpus/0000:{n + 16:02x}:00.0/information": "Model: x\n" for n in range(count)}


def _packages(manager: str) -> str:
    return (
        f"nvidia-fabricmanager {manager}-1 hi \nlibnvsdm 580.126.09-1 ii \n"
        "nvidia-fabricmanager-570 570.1-1 un \nnvlsm 2025.06.6-1 ii \n"
    )


_VERSION = "580.126.09\n"
_REMAP = "00000000:1B:00.0, {pending}, {failure}\n"
_MODULES = "mlx5_core 1 0 - Live\nmlx5_ib 1 0 - Live\nib_umad 1 0 - Live\nnvidia_peermem 16384 0 - Live\n"
_SWITCH = "0000:07:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)\n"
_FM = {"LoadState": "loaded", "ActiveState": "active", "NRestarts": "0"}

BY_ID: dict[str, Sample] = {
    "nvidia_driver.version": one(_VERSION, "580.95.05\n"),
    "nvidia_driver.flavour": one("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09\n",
                                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.126.09\n"),
    "nvidia_driver.branch": one(_VERSION, "570.211.01\n"),
    "nvidia_driver.loaded": ((_VERSION, _VERSION), (_VERSION, "595.91.07\n")),
    "nvidia_driver.fabric_manager": ((_VERSION, _packages("580.126.09")), (_VERSION, _packages("580.126.10"))),
    "nvidia_driver.nvlink": (({"/sys/class/infiniband/mlx5_2/device/vpd": "\x82SW_MNG\x00"}, gpus(8)),
        (None, gpus(8) + _SWITCH)),
    "nvidia_driver.subnet_manager": one(_packages("1"), "nvlsm 2025.06.6-1 rc \n"),
    "nvidia_driver.link_modules": ((_MODULES, "6.8.0\n", None), ("mlx5_core 1 0 - Live\n", "6.8.0\n", None)),
    "nvidia_driver.management_ports": ((SWITCH_NICS, UMADS, masks("0xa651e848", "0xa751ec48")),
                                       (SWITCH_NICS, UMADS, masks("0xa651ec48", "0xa751ec48"))),
    "nvidia_driver.fabric_service": one(unit(**_FM), unit(**{**_FM, "ActiveState": "failed"})),
    "nvidia_driver.fabric_restarts": one(unit(**_FM), unit(**{**_FM, "NRestarts": "41"})),
    "nvidia_driver.fabric_port": one("LISTEN 0 128 127.0.0.1:6666 0.0.0.0:*\n",
        "LISTEN 0 128 127.0.0.1:66660 0.0.0.0:*\n"),
    "nvidia_driver.persistence": _column("persistence_mode", "Disabled"),
    "nvidia_driver.persistence_service": one(ACTIVE, NOT_FOUND),
    "nvidia_driver.peermem": (("nvidia 1 0 - Live\n", None), (_MODULES, None)),
    "nvidia_driver.dma_buf": one("6.8.0-45-generic\n", "5.4.0-200-generic\n"),
    "nvidia_driver.restrict_profiling": _option("RestrictProfilingToAdminUsers", 1),
    "nvidia_driver.relaxed_ordering": _option("EnablePCIERelaxedOrderingMode", 0),
    "nvidia_driver.topology_override": _option("GrdmaPciTopoCheckOverride", 0),
    "nvidia_driver.nvlink_bandwidth": one('RmNvlinkBandwidth: "FULL"\n', 'RmNvlinkBandwidth: "HALF"\n'),
    "nvidia_driver.coherent_memory": one('CoherentGPUMemoryMode: "driver"\n', 'CoherentGPUMemoryMode: ""\n'),
    "nvidia_driver.imex": one(NOT_FOUND, ACTIVE),
    "nvidia_driver.unattended_upgrades": one("0\n", "1\n"),
    "nvidia_driver.holds": one(_packages("580.126.09"), "linux-image-generic 6.8 hi \nnvidia-open 580.126.09-1 ii \n"),
    "nvidia_driver.pinned": (
        (_packages("580.126.09"), policy(libnvsdm="580.126.09-1 580.126.09-1", nvlsm="2025.06.6-1 2025.06.6-1")),
        (_packages("580.126.09"), policy(libnvsdm="580.126.09-1 580.126.20-1", nvlsm="2025.06.6-1 2025.06.6-1"))),
    "nvidia_driver.one_owner": one(None, "ID=ubuntu\n"),
    "nvidia_driver.gpus": _column("name", "NVIDIA B200"),
    "nvidia_driver.gpu_count": one(smi(), smi(7)),
    "nvidia_driver.gpus_agree": ((gpus(8), _driven(8), smi()), (gpus(8), _driven(8), smi(7))),
    "nvidia_driver.memory": _column("memory.total", "183359"),
    "nvidia_driver.power_limit": _column("power.limit", "700.00"),
    "nvidia_driver.power_brake": _column("clocks_throttle_reasons.hw_power_brake_slowdown", "Active"),
    "nvidia_driver.ecc": _column("ecc.mode.current", "Disabled"),
    "nvidia_driver.ecc_errors": _column("ecc.errors.uncorrected.volatile.total", "2"),
    "nvidia_driver.rows_pending": one(_REMAP.format(pending="No", failure="No"),
        _REMAP.format(pending="Yes", failure="No")),
    "nvidia_driver.rows_failed": one(_REMAP.format(pending="No", failure="No"),
        _REMAP.format(pending="No", failure="Yes")),
    "nvidia_driver.mig": _column("mig.mode.current", "Enabled"),
    "nvidia_driver.vbios": _column("vbios_version", "97.10.4C.00.0A"),
    "nvidia_driver.nvlinks": one(_nvlinks("53.125 GB/s"), _nvlinks("<inactive>")),
    "nvidia_driver.nvlink_speed": one(_nvlinks("53.125 GB/s"), _nvlinks("26.562 GB/s")),
    "nvidia_driver.fabric_state": one(fabric("Completed", "Success"), fabric("In Progress", "N/A")),
    "nvidia_driver.fabric_status": one(fabric("Completed", "Success"), fabric("Completed", "Insufficient Resources")),
    "pcie.gpu_generation": _column("pcie.link.gen.max", "5"),
    "pcie.gpu_width": _column("pcie.link.width.current", "8"),
    "node_health.host_engines": one("systemd\nnv-hostengine\n", "nv-hostengine\nnv-hostengine\n"),
    "node_health.dcgm": one(NOT_FOUND, ACTIVE),
    "node_health.exporter": one(NOT_FOUND, ACTIVE),
    "node_health.log_watcher": one(ACTIVE, INACTIVE),
    "node_health.event_log": one("SEL Information\nVersion          : 1.5\nEntries          : 0\n",
        "Entries          : 12\n"),
    "node_health.power_supplies": one(
        "PSU1_Status | 2Fh | ok | 10.1 | Presence detected\n",
        "PSU1_Status | 2Fh | ok | 10.1 | Presence detected, Failure detected\n"),
    "node_health.fans": one("FAN1 | 41h | ok | 29.1 | 8200 RPM\n", "FAN1 | 41h | cr | 29.1 | 0 RPM\n"),
}  # fmt: skip
"""Setting → what a host says, all of a B300 unless the setting is for others."""
