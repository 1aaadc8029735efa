"""Recordings of the compute fabric: links, what they carry, and where they push back."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording

BY = "host, pool, leaf"
"""What names a host."""

FABRIC = (
    Recording("nic:up:bool",
              f"min by ({BY}, device) (node_infiniband_state_id == bool 4) * on ({BY}, device)"
              f" min by ({BY}, device) (node_infiniband_physical_state_id == bool 5)",
              "1 if the link is up and active"),
    Recording("nic:link_downs:increase", f"max by ({BY}, device) (increase(node_infiniband_link_downed_total[<1h>]))",
              "Times a link went down within an hour"),
    Recording("nic:symbol_errors:rate", f"max by ({BY}, device) (rate(node_infiniband_symbol_error_total[<15m>]))",
              "Symbol errors (1/s)"),
    Recording("nic:bad_packets:rate",
              f"max by ({BY}, device) (rate(node_infiniband_port_errors_received_total[<5m>])"
              " + rate(node_infiniband_link_error_recovery_total[<5m>]))",
              "Packets received in error and link recoveries (1/s)"),
    Recording("nic:pfc_pauses:rate", f"max by ({BY}, device) (rate(node_ethtool_received_prio3_pause[<5m>]))",
              "Pause frames received on the lossless priority (1/s)"),
    Recording("host:rdma_received_bytes:rate",
              f"sum by ({BY}) (rate(node_infiniband_port_data_received_bytes_total[<5m>]))",
              "RDMA bytes received (1/s)"),
    Recording("host:rdma_sent_bytes:rate",
              f"sum by ({BY}) (rate(node_infiniband_port_data_transmitted_bytes_total[<5m>]))",
              "RDMA bytes sent (1/s)"),
    Recording("host:nics_up:count", f"sum by ({BY}) (nic:up:bool)", "Links that are up"),
    Recording("rail:nics_down:ratio",
              "count by (pool, device) (nic:up:bool == 0) / count by (pool, device) (nic:up:bool)",
              "Hosts of the pool whose link on this rail is down"),
)  # fmt: skip
"""A rail is all links with one device name in one pool."""
