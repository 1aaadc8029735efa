"""GPUs, hosts and fabric: what each is doing, and what is wrong with it."""

from __future__ import annotations

from infra.plan.dashboards.board import HOST, POOL, Board, Panel, Query, Row

_IN = '{pool=~"$pool",host=~"$host"}'
_POOL = '{pool=~"$pool"}'
_LINK_COUNTERS = "hosts with NICs for RDMA; simulated ones have no traffic to count"

HOSTS = Row("Hosts", (
    Panel("Hosts", "table", "count", "One line per host; simulated ones have no CPU or memory of their own.",
          (Query(f"host:ready:bool{_IN}", "ready", "bool", bad_below=1),
           Query(f"host:cordoned:bool{_IN}", "cordoned", "bool", bad_above=0),
           Query(f"count by (host, pool, leaf) (gpu:temperature_celsius{_IN})", "GPUs"),
           Query(f"max by (host, pool, leaf) (gpu:temperature_celsius{_IN})", "hottest GPU", "°C"),
           Query(f"sum by (host, pool, leaf) (gpu:power_watts{_IN})", "GPU power", "W"),
           Query(f"host:nics_up:count{_IN}", "links up"),
           Query(f"host:cpu_used:ratio{_IN}", "CPUs used", "ratio", bad_above=0.95),
           Query(f"host:memory_used:ratio{_IN}", "memory used", "ratio", bad_above=0.95)),
          by=("host", "pool", "leaf")),
    Panel("Ready", "states", "bool", "Green while Kubernetes calls the host ready.",
          (Query(f"host:ready:bool{_IN}", "{{host}}", bad_below=1),)),
    Panel("Cordoned", "states", "bool", "Red while nothing may be placed on the host.",
          (Query(f"host:cordoned:bool{_IN}", "{{host}}", bad_above=0),)),
    Panel("CPUs in use", "lines", "ratio", "All CPUs of the host.", (Query(f"host:cpu_used:ratio{_IN}", "{{host}}"),)),
    Panel("Memory in use", "lines", "ratio", "What cannot be had back without paging.",
          (Query(f"host:memory_used:ratio{_IN}", "{{host}}"),)),
    Panel("Stalled on memory", "lines", "ratio", "Time in which all work waited for memory.",
          (Query(f"host:memory_stalled:ratio{_IN}", "{{host}}"),)),
    Panel("Disk free", "lines", "ratio", "Of each file system; the kubelet evicts pods below a tenth.",
          (Query(f"min by (host, mountpoint) (host:disk_free:ratio{_IN})", "{{host}} {{mountpoint}}"),)),
    Panel("Network", "lines", "bytes/s", "Received and sent, without RDMA.",
          (Query(f"host:network_received_bytes:rate{_IN}", "{{host}} received"),
           Query(f"host:network_sent_bytes:rate{_IN}", "{{host}} sent"))),
    Panel("Bad packets and retransmits", "lines", "ratio", "Of packets received, of TCP segments sent.",
          (Query(f"host:network_bad_packets:ratio{_IN}", "{{host}} bad packets"),
           Query(f"host:tcp_retransmits:ratio{_IN}", "{{host}} retransmits"))),
    Panel("Clock", "lines", "seconds", "Clock of the host less that of Prometheus; a scrape takes part of it.",
          (Query(f"host:clock_skew_seconds{_IN}", "{{host}}"),), span=12),
    Panel("Kernel settings", "table", "code", "As they are now; HostTuningDrift compares them with the plan.",
          (Query(f"min by (host, setting) (host:setting{_IN})", "value"),), by=("host", "setting"), span=12),
))  # fmt: skip

GPUS = Row("GPUs", (
    Panel("Use per pool", "lines", "ratio", "Mean over all GPUs of the pool.",
          (Query(f"pool:gpu_use:mean{_POOL}", "{{pool}}"),)),
    Panel("Busiest GPU", "lines", "ratio", "Share of time with work, of each host's busiest GPU.",
          (Query(f"max by (host) (gpu:use:ratio{_IN})", "{{host}}"),)),
    Panel("Fullest GPU", "lines", "ratio", "Memory in use, of each host's fullest GPU.",
          (Query(f"max by (host) (gpu:memory_used:ratio{_IN})", "{{host}}"),)),
    Panel("Hottest GPU", "lines", "°C", "Of each host.",
          (Query(f"max by (host) (gpu:temperature_celsius{_IN})", "{{host}}"),)),
    Panel("Power", "lines", "W", "Hungriest GPU of each host, against the limit of its board.",
          (Query(f"max by (host) (gpu:power_watts{_IN})", "{{host}}"),
           Query(f"plan:gpu_power_watts:limit{_POOL}", "{{pool}}, limit", is_limit=True))),
    Panel("GPUs that report", "lines", "count", "Per host; one fewer is a lost GPU.",
          (Query(f"count by (host) (gpu:temperature_celsius{_IN})", "{{host}}"),)),
    Panel("Errors since the last reset", "lines", "count", "Double-bit errors of memory, per host.",
          (Query(f"sum by (host) (gpu:ecc_uncorrectable:count{_IN})", "{{host}}"),)),
    Panel("NVLink errors", "lines", "count", "Within the last minutes, by kind; some kinds on some boards only.",
          (Query(f"sum by (host, kind) (gpu:nvlink_errors:increase{_IN})", "{{host}} {{kind}}"),)),
    Panel("Rows without a spare", "lines", "count", "GPUs in which a bad row found no spare.",
          (Query(f"sum by (host) (gpu:row_remap_failed:bool{_IN})", "{{host}}"),)),
    Panel("GPUs with an Xid", "lines", "count", "GPUs whose driver has reported an error since it was loaded.",
          (Query(f"sum by (host) (gpu:xid_code{_IN} > bool 0)", "{{host}}"),), span=12),
    Panel("Clocks held back", "lines", "count", "Events of the last minutes, by reason.",
          (Query(f"sum by (host, clock_event) (DCGM_EXP_CLOCK_EVENTS_COUNT{_IN})", "{{host}} {{clock_event}}"),),
          span=12, needs_hardware="real GPUs under dcgm-exporter; clocks of simulated ones have no reasons"),
))  # fmt: skip

FABRIC = Row("Fabric", (
    Panel("Links up", "lines", "count", "Per host.", (Query(f"host:nics_up:count{_IN}", "{{host}}"),)),
    Panel("Links down per rail", "lines", "count", "Hosts of the pool whose link on the rail is down.",
          (Query(f"sum by (pool, device) (1 - nic:up:bool{_POOL})", "{{pool}} {{device}}"),)),
    Panel("Links that went down", "lines", "count", "Times within an hour at the pace of production.",
          (Query(f"sum by (host) (nic:link_downs:increase{_IN})", "{{host}}"),)),
    Panel("Symbol errors", "lines", "1/s", "Of each host's worst link.",
          (Query(f"max by (host) (nic:symbol_errors:rate{_IN})", "{{host}}"),)),
    Panel("Pauses", "lines", "1/s", "Pause frames received on the lossless priority, of each host's worst link.",
          (Query(f"max by (host) (nic:pfc_pauses:rate{_IN})", "{{host}}"),)),
    Panel("Bad packets", "lines", "1/s", "Received in error, and recoveries, of each host's worst link.",
          (Query(f"max by (host) (nic:bad_packets:rate{_IN})", "{{host}}"),), needs_hardware=_LINK_COUNTERS),
    Panel("RDMA", "lines", "bytes/s", "Received and sent over all links of the host.",
          (Query(f"host:rdma_received_bytes:rate{_IN}", "{{host}} received"),
           Query(f"host:rdma_sent_bytes:rate{_IN}", "{{host}} sent")), span=24, needs_hardware=_LINK_COUNTERS),
))  # fmt: skip

HOSTS_AND_GPUS = Board("hosts", "GPUs and hosts", "What each host, GPU and link is doing, and what is wrong with it.",
                       (POOL, HOST), (HOSTS, GPUS, FABRIC))  # fmt: skip
"""The page behind every alert of level gpu, host and fabric."""
