"""Recordings per host: what Kubernetes thinks of it, its load, and the settings it runs with."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording, renamed
from infra.catalog.settings import SETTINGS

BY = "host, pool, leaf"
"""What names a host."""

DISKS = 'mountpoint!~".*/(kubelet/pods|containerd)/.*|/dev/shm|/run/(user|netns|lock).*",fstype!~"nsfs|ramfs|squashfs"'
"""File systems that a host can fill, without those that belong to one pod."""

_NODE = renamed(
    renamed(
        renamed('kube_node_labels{label_railwright_dev_pool!=""}', "host", "node"),
        *("pool", "label_railwright_dev_pool"),
    ),
    *("leaf", "label_railwright_dev_leaf", "(.*)"),
)
_READY = renamed('kube_node_status_condition{condition="Ready",status="true"}', "host", "node")
_PRESSED = renamed('kube_node_status_condition{condition="MemoryPressure",status="true"}', "host", "node")
_CORDONED = renamed("kube_node_spec_unschedulable", "host", "node")
_DISK = f"min by ({BY}, mountpoint) (node_filesystem_{{}}_bytes{{{{{DISKS}}}}})"


def _network(direction: str) -> str:
    return f'sum by ({BY}) (rate(node_network_{direction}_bytes_total{{device!~"lo|veth.*|cali.*|cni.*"}}[<5m>]))'


HOST = (
    Recording("host:info", f"max by ({BY}) ({_NODE})", "1 for each host with a pool"),
    Recording("host:ready:bool", f"host:info * on (host) group_left () max by (host) ({_READY})", "1 if ready"),
    Recording("host:cordoned:bool", f"host:info * on (host) group_left () max by (host) ({_CORDONED})",
              "1 if nothing may be placed on it"),
    Recording("host:memory_pressed:bool", f"host:info * on (host) group_left () max by (host) ({_PRESSED})",
              "1 if its kubelet evicts pods for memory"),
    Recording("host:cpu_used:ratio", f'1 - avg by ({BY}) (rate(node_cpu_seconds_total{{mode="idle"}}[<5m>]))',
              "CPUs in use"),
    Recording("host:memory_used:ratio",
              f"1 - max by ({BY}) (node_memory_MemAvailable_bytes) / max by ({BY}) (node_memory_MemTotal_bytes)",
              "Memory in use"),
    Recording("host:memory_stalled:ratio",
              f"max by ({BY}) (rate(node_pressure_memory_stalled_seconds_total[<5m>]))",
              "Share of time in which all work waited for memory"),
    Recording("host:disk_free:ratio", f"{_DISK.format('avail')} / {_DISK.format('size')}",
              "Free part of each file system"),
    Recording("host:network_received_bytes:rate", _network("receive"), "Bytes received, without RDMA (1/s)"),
    Recording("host:network_sent_bytes:rate", _network("transmit"), "Bytes sent, without RDMA (1/s)"),
    Recording("host:network_bad_packets:ratio",
              f"sum by ({BY}) (rate(node_network_receive_errs_total[<5m>]) +"
              f" rate(node_network_transmit_errs_total[<5m>])"
              " + rate(node_network_receive_drop_total[<5m>]))"
              f" / (sum by ({BY}) (rate(node_network_receive_packets_total[<5m>])) > 0)",
              "Packets in error or dropped, of those received"),
    Recording("host:tcp_retransmits:ratio",
              f"sum by ({BY}) (rate(node_netstat_Tcp_RetransSegs[<5m>]))"
              f" / (sum by ({BY}) (rate(node_netstat_Tcp_OutSegs[<5m>])) > 0)",
              "TCP segments sent again"),
    Recording("host:clock_skew_seconds", f"max by ({BY}) (node_time_seconds - timestamp(node_time_seconds))",
              "Clock of the host less the clock of Prometheus (seconds)"),
    Recording("host:setting",
              " or ".join(f'label_replace(max by ({BY}) ({row.metric}), "setting", "{row.key}", "", "")'
                          for row in SETTINGS),
              "Kernel settings that the plan knows"),
)  # fmt: skip
"""Levels of one host. What Kubernetes says holds for simulated hosts too."""
