"""Metrics of node_exporter, with its collectors infiniband, ethtool and sysctl."""

from __future__ import annotations

from infra.catalog.metrics.metric import Exporter

_NODE = Exporter("node-exporter", "node_exporter 1.12.1, default collectors; compared with /metrics of the lab's host")
_SYSCTL = Exporter("node-exporter", "node_exporter 1.12.1, collector sysctl with the keys in infra/catalog/settings.py")
_RDMA = Exporter("node-exporter", "node_exporter 1.12.1, collector/infiniband_linux.go", ("device", "port"))
_ETHTOOL = Exporter(
    "node-exporter",
    "node_exporter 1.12.1, collector/ethtool_linux.go (off by default) renames rx to received; "
    "counters of the mlx5 driver, Linux Documentation, ethernet/mellanox/mlx5/counters",
    ("device",),
)

NODE = (
    _NODE.counter("node_cpu_seconds_total", "seconds", "cpu", "mode"),
    _NODE.gauge("node_memory_MemAvailable_bytes", "bytes"),
    _NODE.gauge("node_memory_MemTotal_bytes", "bytes"),
    _NODE.counter("node_pressure_memory_stalled_seconds_total", "seconds"),
    _NODE.gauge("node_filesystem_avail_bytes", "bytes", "device", "fstype", "mountpoint"),
    _NODE.gauge("node_filesystem_size_bytes", "bytes", "device", "fstype", "mountpoint"),
    _NODE.counter("node_network_receive_bytes_total", "bytes", "device"),
    _NODE.counter("node_network_transmit_bytes_total", "bytes", "device"),
    _NODE.counter("node_network_receive_packets_total", "packets", "device"),
    _NODE.counter("node_network_receive_errs_total", "packets", "device"),
    _NODE.counter("node_network_receive_drop_total", "packets", "device"),
    _NODE.counter("node_network_transmit_errs_total", "packets", "device"),
    # /proc/net/netstat has no types, so the exporter gives none.
    _NODE.untyped("node_netstat_Tcp_RetransSegs", "segments"),
    _NODE.untyped("node_netstat_Tcp_OutSegs", "segments"),
    _NODE.gauge("node_time_seconds", "seconds"),
    _NODE.gauge("node_boot_time_seconds", "seconds"),
    _NODE.gauge("node_timex_offset_seconds", "seconds"),
    _NODE.gauge("node_timex_sync_status", "bool"),
    _NODE.gauge("node_timex_maxerror_seconds", "seconds"),
    _SYSCTL.untyped("node_sysctl_net_core_somaxconn", "count"),
    _SYSCTL.untyped("node_sysctl_vm_max_map_count", "count"),
    _SYSCTL.untyped("node_sysctl_kernel_numa_balancing", "bool"),
    # 4 is active, 5 is link up.
    _RDMA.gauge("node_infiniband_state_id", "state"),
    _RDMA.gauge("node_infiniband_physical_state_id", "state"),
    _RDMA.counter("node_infiniband_link_downed_total", "events"),
    _RDMA.counter("node_infiniband_symbol_error_total", "errors"),
    _RDMA.counter("node_infiniband_link_error_recovery_total", "events", hardware=True),
    _RDMA.counter("node_infiniband_port_errors_received_total", "packets", hardware=True),
    _RDMA.counter("node_infiniband_port_data_received_bytes_total", "bytes", hardware=True),
    _RDMA.counter("node_infiniband_port_data_transmitted_bytes_total", "bytes", hardware=True),
    _ETHTOOL.untyped("node_ethtool_received_prio3_pause", "frames"),
)
"""Simulated hosts of the lab give the RDMA and ethtool ones that are not marked."""
