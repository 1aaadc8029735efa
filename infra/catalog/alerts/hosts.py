"""Alerts of hosts: reachable, healthy, and as they were set up."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert
from infra.catalog.recordings.host import BY, DISKS

_Alert = partial(Alert, level="host")
_FULL_SOON = f"max by ({BY}, mountpoint) (predict_linear(node_filesystem_avail_bytes{{{DISKS}}}[<1h>], <4h:s>) < 0)"

HOSTS = (
    _Alert(
        "HostNotReady", "page", hold="1m",
        expr="host:ready:bool == 0",
        summary="Host {{ $labels.host }} is not ready",
        description="The API server hears nothing from its kubelet, or the kubelet says it cannot run pods."
                    " Pool {{ $labels.pool }}, leaf {{ $labels.leaf }}.",
        runbook="host/recover_host", drill="stop_kubelet", source="Kubernetes calls a host lost after 50 s of silence",
    ),
    _Alert(
        "HostCordoned", "ticket", hold="1h",
        expr="host:cordoned:bool == 1",
        summary="Host {{ $labels.host }} has been cordoned for long",
        description="Nothing is placed on it; someone forgot it, or a repair takes longer than planned.",
        runbook="host/recover_host", source="our choice: repairs of hosts take less than an hour",
        no_drill="an hour is six minutes even at the lab's pace; drain_host ends before",
    ),
    _Alert(
        "HostDiskFilling", "ticket", hold="2m",
        expr=f"host:disk_free:ratio < <least> or on ({BY}, mountpoint) (host:disk_free:ratio < <low> and {_FULL_SOON})",
        limits={"least": 0.1, "low": 0.15},
        summary="{{ $labels.mountpoint }} on {{ $labels.host }} has {{ $value | humanizePercentage }} left",
        description="It is nearly full, or will be within hours. Below 10 % kubelet evicts pods and deletes images.",
        runbook="host/free_disk", drill="fill_disk", source="kubelet: evictionHard nodefs.available 10 %, imagefs 15 %",
    ),
    _Alert(
        "HostMemoryLow", "page", hold="1m",
        expr="1 - host:memory_used:ratio < <free> or host:memory_stalled:ratio > <stalled> or"
             " host:memory_pressed:bool == 1",
        limits={"free": 0.05, "stalled": 0.1},
        summary="Host {{ $labels.host }} is short of memory",
        description="Little is available, work stands still for want of it, or kubelet evicts pods.",
        runbook="host/relieve_host", drill="press_memory",
        source="our choice; Linux Documentation/accounting/psi.rst for stalls",
    ),
    _Alert(
        "HostCpuSaturated", "ticket", hold="30m",
        expr="host:cpu_used:ratio > <use>",
        limits={"use": 0.95},
        summary="CPUs of {{ $labels.host }} are in use {{ $value | humanizePercentage }} of the time",
        description="Engines feed their GPUs from CPUs; without them GPUs wait.",
        runbook="host/relieve_host", source="our choice: longer than any load of weights or compile",
        no_drill="half an hour of load even on a small host; burst_traffic comes close",
    ),
    _Alert(
        "HostClockSkewed", "ticket", hold="1m",
        expr=f"abs(host:clock_skew_seconds) > <skew> or max by ({BY}) (abs(node_timex_offset_seconds)) > <offset>"
             f" or max by ({BY}) (abs(delta(node_boot_time_seconds[<5m>])) > <skew> and time() -"
             f" node_boot_time_seconds > 600)"
             f" or (max by ({BY}) (node_timex_maxerror_seconds) >= <unheard> and on (pool) plan:clock_kept:bool)",
        limits={"skew": 2, "offset": 0.05, "unheard": 16},
        summary="The clock of {{ $labels.host }} is wrong, was moved, or is not kept",
        description="Certificates, leases, logs and metrics go by it. It differs from Prometheus' clock, jumped,"
                    " or hears"
                    " from no time server.",
        runbook="host/retune_host", drill="jump_clock",
        source="node-mixin, NodeClockSkewDetected and NodeClockNotSynchronising",
    ),
    _Alert(
        "HostTuningDrift", "ticket", hold="5m",
        expr="host:setting < on (setting) group_left () plan:setting:least"
             " or host:setting > on (setting) group_left () plan:setting:most",
        summary="{{ $labels.setting }} on {{ $labels.host }} is {{ $value }}",
        description="It is not what the plan asks for: another file wins at boot, or someone set it by hand.",
        runbook="host/retune_host", source="infra/catalog/settings.py, with a source for each setting",
        no_drill="would change the kernel that all labs of the machine share; the rule is tested with series",
    ),
    _Alert(
        "HostNetworkErrors", "ticket", hold="5m",
        expr="host:network_bad_packets:ratio > <bad> or host:tcp_retransmits:ratio > <again>",
        limits={"bad": 0.001, "again": 0.05},
        summary="{{ $labels.host }} loses packets",
        description="{{ $value | humanizePercentage }} of its packets are in error, dropped or sent again.",
        runbook="host/relieve_host",
        source="node-mixin, NodeNetworkReceiveErrs (1 %), sharper for a data centre network",
        no_drill="lost between two network namespaces of the lab, which no interface of a host counts",
    ),
)  # fmt: skip
"""From gone to slowly going."""
