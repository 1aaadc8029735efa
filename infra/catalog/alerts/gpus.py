"""Alerts of GPUs, on the canonical series: it does not matter which DCGM wrote them."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert
from infra.catalog.xids import SERIOUS

_Alert = partial(Alert, level="gpu", runbook="gpu/replace_gpu")
_WHERE = "GPU {{ $labels.gpu }} of {{ $labels.host }}"
_CODES = "|".join(str(code) for code in SERIOUS)

GPUS = (
    _Alert(
        "GpuLost", "page", hold="2m",
        # The series of a GPU that fell off the bus are gone, so they are counted against the plan.
        expr="(host:info * on (pool) group_left () plan:gpus_per_host:count) - on (host) group_left ()"
             " (count by (host) (gpu:temperature_celsius) or on (host) host:info * 0) > 0",
        summary="{{ $labels.host }} lacks {{ $value }} of its GPUs",
        description="Fewer GPUs report than the board has, down to none: they fell off the bus, or their exporter"
                    " is gone.",
        drill="lose_gpu", source="plan: board of the pool; NVIDIA/dcgm-exporter#348",
    ),
    _Alert(
        "GpuXid", "page", hold="0s",
        expr=f'gpu:xid_recent:count{{xid=~"{_CODES}"}} > 0',
        summary="Xid {{ $labels.xid }} on " + _WHERE,
        description="The driver reported a fault after which the GPU or its host must be seen to. It ends with"
                    " its window"
                    " and fires again with the next one.",
        drill="lose_gpu", source="infra/catalog/xids.py",
    ),
    _Alert(
        "GpuEccErrors", "page", hold="0s",
        expr="gpu:ecc_uncorrectable:count > 0",
        summary=_WHERE + " had {{ $value }} double-bit errors",
        description="Memory errors that ECC could not correct since the last reset; results may be lost.",
        source="Azure NHC azure_gpu_ecc.nhc: any uncorrectable volatile error drains the host",
        no_drill="the simulated signal is there; lose_gpu proves the way from signal to runbook",
    ),
    _Alert(
        "GpuRowRemapFailed", "page", hold="0s",
        expr="gpu:row_remap_failed:bool > 0",
        summary=_WHERE + " has no spare row left",
        description="A bad row of memory could not be replaced: the GPU has to be exchanged.",
        source="NVIDIA GPU memory error management: a failed remap is a reason to return the GPU",
        no_drill="the simulated signal is there; lose_gpu proves the way from signal to runbook",
    ),
    _Alert(
        "GpuTooHot", "ticket", hold="5m",
        expr="gpu:temperature_celsius > <celsius>",
        limits={"celsius": 85},
        summary=_WHERE + " is at {{ $value }} °C",
        description="Close to where it slows itself down: fans, airflow or the cold plate.",
        source="public nvidia-smi -q of H100 SXM: maximum operating temperature 87 °C",
        no_drill="the simulated signal is there; lose_gpu proves the way from signal to runbook",
    ),
    _Alert(
        "GpuThrottled", "ticket", hold="5m",
        expr='max by (host, pool, leaf, gpu, clock_event)'
             ' (DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event=~"hw_thermal|sw_thermal'
             '|hw_power_brake"}) > 0',
        summary=_WHERE + " is slowed down by {{ $labels.clock_event }}",
        description="Heat or the power supply lowers its clocks; all ranks of its engine wait for it.",
        source="dcgm-exporter 4.8.3, DCGM_EXP_CLOCK_EVENTS_COUNT", hardware=True,
        no_drill="clocks of simulated GPUs have no reasons",
    ),
    _Alert(
        "GpuNvlinkErrors", "ticket", hold="0s",
        expr="gpu:nvlink_errors:increase > 0",
        summary=_WHERE + " has NVLink errors ({{ $labels.kind }})",
        description="Links inside the host send again or recover: collectives slow down, Xid 74 or 144 to 150 may"
                    " follow.",
        source="OCI active health check: 0 errors on 18 links per GPU",
        no_drill="the simulated signal is there; lose_gpu proves the way from signal to runbook",
    ),
    _Alert(
        "GpuPowerHigh", "ticket", hold="5m",
        expr="gpu:power_watts > on (pool) group_left () <over> * plan:gpu_power_watts:limit",
        limits={"over": 1.05},
        summary=_WHERE + " draws {{ $value }} W",
        description="More than its board is built for, on average: its power limit was raised or its sensor is wrong.",
        source="NVIDIA/DCGM 4.6.0, nvvs/diag-skus.yaml.in (targeted_power), and 5 %",
        no_drill="the simulated signal is there; lose_gpu proves the way from signal to runbook",
    ),
)  # fmt: skip
"""From gone to slowed down."""
