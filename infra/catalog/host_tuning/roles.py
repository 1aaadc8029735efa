"""Roles that tune a host, in the order in which they run."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.host_tuning import (
    container_runtime,
    cpu,
    hardening,
    kernel_settings,
    kubelet,
    node_health,
    nvidia_driver,
    pcie,
    rdma,
    storage,
    time_sync,
)
from infra.catalog.host_tuning.setting import Setting, Variable


@dataclass(frozen=True, slots=True)
class Role:
    """One Ansible role: what it does, its settings, and its other variables."""

    name: str
    what: str
    settings: tuple[Setting, ...]
    variables: tuple[Variable, ...]


ROLES = tuple(
    Role(module.__name__.rpartition(".")[2], module.WHAT, module.SETTINGS, module.VARIABLES)
    for module in (
        kernel_settings, cpu, pcie, storage, time_sync, hardening, nvidia_driver, rdma, container_runtime, kubelet,
        node_health,
    )
)  # fmt: skip
"""The driver before RDMA, as OFED's modules come after it; kubelet last of what runs pods."""
