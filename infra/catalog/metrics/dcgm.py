"""Metrics of GPUs under the names of DCGM 4.5 and of DCGM 4.6, which renamed most of them."""

from __future__ import annotations

from infra.catalog.metrics.metric import Exporter

_BOTH = Exporter("dcgm-exporter", "DCGM 4.6.0 dcgm_fields.h and dcgm_fields.py; same name in 4.5", ("gpu", "UUID"))
_OLD = Exporter("dcgm-exporter", "dcgm-exporter 4.5 default-counters.csv; DCGM 4.6 keeps it as an alias only",
                ("gpu", "UUID"))  # fmt: skip
_NEW = Exporter("dcgm-exporter", "DCGM 4.6.0 dcgm_fields.h; the name before it is in the same file as deprecated",
                ("gpu", "UUID"))  # fmt: skip
_OWN = Exporter("dcgm-exporter", "dcgm-exporter 4.8.3, etc/default-counters.csv, section of the exporter's own fields",
                ("gpu", "UUID"))  # fmt: skip

RENAMED = {
    "DCGM_FI_DEV_GPU_TEMP": "DCGM_FI_DEV_GPU_TEMP_CELSIUS",
    "DCGM_FI_DEV_POWER_USAGE": "DCGM_FI_DEV_BOARD_POWER_WATTS",
    "DCGM_FI_DEV_GPU_UTIL": "DCGM_FI_DEV_GPU_UTIL_RATIO",
    "DCGM_FI_DEV_XID_ERRORS": "DCGM_FI_DEV_XID_ERROR",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": "DCGM_FI_DEV_ROW_REMAP_FAILED",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL",
}
"""Name before DCGM 4.6 → name since. Source: NVIDIA/DCGM 4.6.0, dcgmlib/dcgm_fields.h."""

DCGM = (
    _OLD.gauge("DCGM_FI_DEV_GPU_TEMP", "°C"),
    _NEW.gauge("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "°C"),
    _OLD.gauge("DCGM_FI_DEV_POWER_USAGE", "W"),
    _NEW.gauge("DCGM_FI_DEV_BOARD_POWER_WATTS", "W"),
    _OLD.gauge("DCGM_FI_DEV_GPU_UTIL", "per cent"),
    # Field 203, an integer from 0 to 100 in 4.6 in spite of its name. 4.7 gives the name to a real ratio (field 1613)
    # and leaves the percentage under the old name.
    _NEW.gauge("DCGM_FI_DEV_GPU_UTIL_RATIO", "per cent"),
    # The last code since the driver was loaded: it stays, and the same code twice does not show.
    _OLD.gauge("DCGM_FI_DEV_XID_ERRORS", "code"),
    _NEW.gauge("DCGM_FI_DEV_XID_ERROR", "code"),
    _OLD.gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "bool"),
    _NEW.gauge("DCGM_FI_DEV_ROW_REMAP_FAILED", "bool"),
    _BOTH.gauge("DCGM_FI_DEV_FB_USED", "MiB"),
    _BOTH.gauge("DCGM_FI_DEV_FB_FREE", "MiB"),
    _BOTH.counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "errors"),
    _OLD.counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "errors"),
    _NEW.counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", "errors", hardware=True),
    _OLD.counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "errors", hardware=True),
    _NEW.counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", "errors", hardware=True),
    _OLD.counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "errors", hardware=True),
    _NEW.counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", "errors", hardware=True),
    # Events in a sliding window of 5 minutes: a gauge in spite of its name, and zero again by itself.
    _OWN.gauge("DCGM_EXP_XID_ERRORS_COUNT", "events", "xid", "window_size_in_ms", late=True),
    _OWN.gauge("DCGM_EXP_CLOCK_EVENTS_COUNT", "events", "clock_event", "window_size_in_ms", hardware=True, late=True),
)
"""The lab's simulated hosts give those that are not marked; pools of Blackwell GPUs under the new names."""
