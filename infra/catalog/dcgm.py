"""Counters that dcgm-exporter is told to read; one that is not in its list does not exist, and no alert sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Counter:
    """One line of dcgm-exporter's list."""

    field: str
    """Name of the field, which becomes the name of the series."""
    kind: Literal["gauge", "counter"]
    says: str


COUNTERS = (
    Counter("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)."),
    Counter("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (degrees Celsius)."),
    Counter("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (degrees Celsius)."),
    Counter("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power (W)."),
    Counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy since the driver was loaded (mJ)."),
    Counter("DCGM_FI_DEV_GPU_UTIL", "gauge", "Time in which a kernel ran (per cent)."),
    Counter("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Time in which memory was copied (per cent)."),
    Counter("DCGM_FI_DEV_FB_USED", "gauge", "Memory in use (MiB)."),
    Counter("DCGM_FI_DEV_FB_FREE", "gauge", "Memory free (MiB)."),
    Counter("DCGM_FI_DEV_XID_ERRORS", "gauge", "Last Xid; stays until the driver is loaded anew."),
    Counter("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "Xids within the last minutes by code."),
    Counter("DCGM_EXP_CLOCK_EVENTS_COUNT", "gauge", "Reasons for a slower clock within the last minutes."),
    Counter("DCGM_FI_DEV_POWER_VIOLATION", "counter", "Time slowed by the power limit (ns)."),
    Counter("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "Time slowed by temperature (ns)."),
    Counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Memory errors that were corrected."),
    Counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Memory errors that were not corrected."),
    Counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped after uncorrectable errors."),
    Counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped after correctable errors."),
    Counter("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether rows could not be remapped."),
    Counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe packets sent again."),
    Counter("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink traffic of all lanes."),
    Counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "NVLink packets sent again."),
    Counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "NVLink recoveries."),
    Counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "NVLink checksum errors."),
    Counter("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter", "NVLink checksum errors of data."),
    Counter("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Share of time in which any engine was busy."),
    Counter("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Share of time in which tensor cores were busy."),
    Counter("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Share of time in which memory was busy."),
)
"""Names of DCGM 4.5, which DCGM 4.6 and go-dcgm take as aliases of the new ones; so both lines give the same series.

Source: dcgm-exporter, etc/default-counters.csv, with lines that are commented out there; go-dcgm, TestAliasResolution.
"""
