"""The GPU Operator: who brings it, which driver it loads where, and what else it does on hosts."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import Duration, Frozen, Registry

DRIVER_PATTERN = r"^\d{3}(\.\d{1,3}){0,2}$"
"""A version of NVIDIA's driver such as 595.91.07, or a branch such as 595 where it comes ready for a kernel."""

SHARE_PATTERN = r"^([1-9]\d{0,3}|[1-9]\d?%|100%)$"
"""Hosts by number or share. Source: Kubernetes, IntOrString of maxUnavailable."""


class Driver(Frozen):
    """The driver that the operator loads."""

    version: Annotated[str, Field(pattern=DRIVER_PATTERN)] | None = None
    """Left out: the one that the chart's version was released with."""
    precompiled: bool = False
    """Whether it comes ready for the hosts' kernel; then ``version`` is a branch such as ``595``."""
    module: Literal["auto", "open", "proprietary"] = "auto"
    """Which kernel modules; Blackwell knows the open ones only."""

    @model_validator(mode="after")
    def _ready_made_is_named_by_branch(self) -> Self:
        if self.precompiled and (self.version is None or "." in self.version):
            raise ValueError(
                f"precompiled with version={self.version!r}; such images are named by their branch, write one like 595"
            )
        if not self.precompiled and self.version and "." not in self.version:
            raise ValueError(
                f"version={self.version!r} is a branch; write a whole version such as 595.91.07, or set precompiled"
            )
        return self


class Upgrade(Frozen):
    """How a new driver gets onto hosts that work."""

    automatic: bool = True
    """Whether the operator takes host after host by itself."""
    parallel: Annotated[int, Field(ge=1, le=64)] = 1
    """Hosts at once (count)."""
    unavailable: Annotated[str, Field(pattern=SHARE_PATTERN)] = "25%"
    """Hosts that may be out of service, for whatever reason."""
    wait_for_pods: str = ""
    """Label selector of pods that are waited for, however long they take; empty: none."""
    pod_deadline: Duration | None = None
    """Longest wait for a pod with GPUs to go; left out, a minute more than the longest grace of an engine."""
    drain: bool = False
    """Whether all pods leave the host first, not only those with GPUs."""


class PoolOperator(Frozen):
    """What the operator does on the hosts of one pool."""

    operated: bool = True
    """Whether it puts anything on them at all."""
    mig: str = "all-disabled"
    """How each GPU is split, by the name of a profile of its MIG manager."""
    driver: Driver | None = None
    """A driver of its own; left out, the one that all pools have."""


class GpuOperator(Frozen):
    """The operator on the whole cluster."""

    operator: Literal["install", "existing", "none"] | None = None
    """``existing``: it is there, and not ours; ``none``: nobody brings it. Left out: installed where the target's hosts
    need it."""
    nfd: Literal["install", "existing"] = "install"
    """``existing``: Node Feature Discovery is there; there must be exactly one."""
    driver: Driver = Driver()
    upgrade: Upgrade = Upgrade()
    gdrcopy: bool = False
    """Whether to load gdrdrv, for small messages between GPUs."""
    gds: bool = False
    """Whether to load nvidia-fs, for reads from storage into GPUs."""
    dra: bool = False
    """Whether GPUs are given out by ResourceClaims (GPUCluster) in place of the device plugin (ClusterPolicy)."""
    cdi: bool = True
    """Whether containers get their GPUs by CDI."""
    nri: bool = False
    """Whether they get them by an NRI plugin, which no runtime class is needed for."""
    registry: Registry | None = None
    """Mirror of nvcr.io with the same folders below it, where hosts do not reach that."""

    @model_validator(mode="after")
    def _nri_needs_cdi(self) -> Self:
        if self.nri and not self.cdi:
            raise ValueError("nri without cdi; the NRI plugin hands out CDI devices, set cdi or drop nri")
        return self

    @model_validator(mode="after")
    def _what_is_not_ours_is_not_set(self) -> Self:
        said = sorted(self.model_fields_set - {"operator"})
        if self.operator in ("existing", "none") and said:
            raise ValueError(
                f"{', '.join(said)} with operator: {self.operator}; that one is not set from here, "
                f"remove {'it' if len(said) == 1 else 'them'} or set operator to install"
            )
        return self

    @model_validator(mode="after")
    def _ready_made_comes_alone(self) -> Self:
        if self.driver.precompiled and (self.gds or self.gdrcopy):
            raise ValueError(
                "precompiled with gds or gdrcopy; their modules are built on the host, drop one or the other"
            )
        return self
