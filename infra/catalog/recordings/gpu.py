"""Recordings per GPU under one name, whichever DCGM wrote the series."""

from __future__ import annotations

from infra.catalog.metrics.dcgm import RENAMED
from infra.catalog.recordings.recording import Recording

BY = "host, pool, leaf, gpu"
"""What names a GPU. Labels of pods come and go with them and would start a new series each time."""


def either(old: str, wrap: str = "{}") -> str:
    """Read a series under its new name, or under the old one."""
    return f"max by ({BY}) ({wrap.format(RENAMED[old])} or {wrap.format(old)})"


_LINK_ERRORS = tuple(
    f"label_replace({either(f'DCGM_FI_DEV_NVLINK_{kind}_ERROR_COUNT_TOTAL', 'increase({}[<15m>])')},"
    f' "kind", "{kind.lower()}", "", "")'
    for kind in ("REPLAY", "RECOVERY", "CRC_FLIT")
)
_XID = either("DCGM_FI_DEV_XID_ERRORS")

GPU = (
    Recording("gpu:temperature_celsius", either("DCGM_FI_DEV_GPU_TEMP"), "Temperature (°C)"),
    Recording("gpu:power_watts", either("DCGM_FI_DEV_POWER_USAGE"), "Power (W)"),
    Recording("gpu:use:ratio", f"{either('DCGM_FI_DEV_GPU_UTIL')} / 100", "Share of time with work"),
    Recording("gpu:memory_used:ratio",
              f"max by ({BY}) (DCGM_FI_DEV_FB_USED) / max by ({BY}) (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)",
              "Memory in use"),
    Recording("gpu:ecc_uncorrectable:count", f"max by ({BY}) (DCGM_FI_DEV_ECC_DBE_VOL_TOTAL)",
              "Double-bit errors since the last reset"),
    Recording("gpu:row_remap_failed:bool", either("DCGM_FI_DEV_ROW_REMAP_FAILURE"), "1 if a bad row found no spare"),
    Recording("gpu:nvlink_errors:increase", " or ".join(_LINK_ERRORS), "NVLink errors within 15 minutes, by kind"),
    Recording("gpu:xid_code", _XID, "Last Xid; it stays until the driver is loaded anew"),
    # The exporter's own count ends with its window. Where it is off, only a change of the last code is news.
    Recording("gpu:xid_recent:count",
              f"max by ({BY}, xid) (DCGM_EXP_XID_ERRORS_COUNT) > 0 or"
              f' count_values by ({BY}) ("xid", gpu:xid_code > 0 and changes(gpu:xid_code[<5m>]) > 0)',
              "Xids of the last minutes, by code"),
    Recording("pool:gpus_seen:count", "count by (pool) (gpu:temperature_celsius)", "GPUs that report"),
    Recording("pool:gpu_use:mean", "avg by (pool) (gpu:use:ratio)", "Use of all GPUs of the pool (ratio)"),
)  # fmt: skip
"""One series per GPU and level."""
