"""What the exporters of a simulated host would say: DCGM's and node_exporter's own names, marked as simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab.fleet.hosts import Object
from lab.fleet.signals import Signals, signals_of

MIB = 1024 * 1024
"""Bytes."""

IDLE_CELSIUS, IDLE_WATTS = 38.0, 140.0
"""A GPU without work. Source: idle readings in public nvidia-smi listings of HGX H100 and B200; order of size only."""

OLD_NAMES = {
    "DCGM_FI_DEV_GPU_TEMP_CELSIUS": "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_BOARD_POWER_WATTS": "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_GPU_UTIL_RATIO": "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_XID_ERROR": "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_ROW_REMAP_FAILED": "DCGM_FI_DEV_ROW_REMAP_FAILURE",
}
"""DCGM 4.6 name → the name before it. Source: NVIDIA/DCGM 4.6.0, dcgmlib/dcgm_fields.h."""

TYPES = {
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "counter",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": "counter",
    "node_infiniband_info": "gauge",
    "node_infiniband_link_downed_total": "counter",
    "node_infiniband_symbol_error_total": "counter",
    "node_ethtool_received_prio3_pause": "untyped",
}
"""Type of each series that is not a gauge."""


@dataclass(frozen=True)
class Host:
    """What of a Node its series need."""

    name: str
    pool: str
    leaf: str
    product: str
    gpus: int
    memory_mib: int
    """Memory of one GPU."""
    rails: int
    has_new_names: bool
    """Whether its DCGM is 4.6; Blackwell hosts came with it, so that both sets of names are met."""

    @classmethod
    def of(cls, node: Object) -> Host:
        """Read it from labels and capacity, as discovery and device plugins leave them."""
        labels, capacity = node["metadata"].get("labels", {}), node.get("status", {}).get("capacity", {})
        return cls(
            name=node["metadata"]["name"],
            pool=labels.get("railwright.dev/pool", ""),
            leaf=labels.get("railwright.dev/leaf", ""),
            product=labels.get("nvidia.com/gpu.product", ""),
            gpus=int(capacity.get("nvidia.com/gpu", 0)),
            memory_mib=int(labels.get("nvidia.com/gpu.memory", 0)),
            rails=int(capacity.get("rdma/hca", 0)),
            has_new_names=labels.get("nvidia.com/gpu.family") == "blackwell",
        )


def render(node: Object) -> str:
    """Every series of one host in the text format; nothing from a host that is gone."""
    told = signals_of(node)
    if told.is_gone:
        return ""
    host = Host.of(node)
    return "".join(f"{line}\n" for line in (*_gpu_lines(host, told), *_nic_lines(host, told)))


def head() -> str:
    """Type of each series; stands before the samples of all hosts."""
    return "".join(f"# TYPE {name} {kind}\n" for name, kind in sorted(TYPES.items()))


def _gpu_lines(host: Host, told: Signals) -> Iterator[str]:
    for gpu in range(host.gpus):
        if gpu in told.gpu_lost:
            continue
        labels = _labels(
            host,
            "dcgm-exporter",
            gpu=str(gpu),
            device=f"nvidia{gpu}",
            UUID=f"GPU-simulated-{host.name}-{gpu}",
            modelName=host.product,
            Hostname=host.name,
        )
        for name, value in _gpu_values(host, told, gpu):
            yield f"{name if host.has_new_names else OLD_NAMES.get(name, name)}{{{labels}}} {value:g}"
        if gpu in told.xid:
            code = f'xid="{told.xid[gpu]:g}",window_size_in_ms="300000"'
            yield f"DCGM_EXP_XID_ERRORS_COUNT{{{labels},{code}}} 1"


def _gpu_values(host: Host, told: Signals, gpu: int) -> Iterator[tuple[str, float]]:
    util = told.gpu_util.get(gpu, 0.0)
    yield "DCGM_FI_DEV_GPU_TEMP_CELSIUS", told.gpu_temperature.get(gpu, IDLE_CELSIUS)
    yield "DCGM_FI_DEV_BOARD_POWER_WATTS", told.gpu_power.get(gpu, IDLE_WATTS)
    yield "DCGM_FI_DEV_GPU_UTIL_RATIO", util
    yield "DCGM_FI_DEV_FB_USED", 0.0
    yield "DCGM_FI_DEV_FB_FREE", float(host.memory_mib)
    yield "DCGM_FI_DEV_XID_ERROR", told.xid.get(gpu, 0.0)
    yield "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", told.ecc.get(gpu, 0.0)
    yield "DCGM_FI_DEV_ROW_REMAP_FAILED", told.row_remap_failed.get(gpu, 0.0)
    yield "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", told.nvlink_errors.get(gpu, 0.0)


def _nic_lines(host: Host, told: Signals) -> Iterator[str]:
    for nic in range(host.rails):
        is_up = nic not in told.nic_down
        labels = _labels(host, "node-exporter", device=f"mlx5_{nic}", port="1")
        yield f"node_infiniband_state_id{{{labels}}} {4 if is_up else 1}"
        yield f"node_infiniband_physical_state_id{{{labels}}} {5 if is_up else 3}"
        yield f"node_infiniband_link_downed_total{{{labels}}} {told.nic_flaps.get(nic, 0.0) + (not is_up):g}"
        yield f"node_infiniband_symbol_error_total{{{labels}}} {told.nic_errors.get(nic, 0.0):g}"
        ethernet = _labels(host, "node-exporter", device=f"eth{nic}")
        yield f"node_ethtool_received_prio3_pause{{{ethernet}}} {told.pfc_pauses.get(nic, 0.0):g}"


def _labels(host: Host, job: str, **more: str) -> str:
    who = {"job": job, "instance": host.name, "host": host.name, "pool": host.pool, "leaf": host.leaf}
    return ",".join(f'{name}="{value}"' for name, value in {**who, "simulated": "true", **more}.items())
