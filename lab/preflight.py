"""Find everything that this machine lacks for a lab, all at once and before anything is touched."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.errors import ConfigError
from lab import kernel_probe, packages, paths
from lab.cluster import cgroups, registry
from lab.steps import Report

GIB = 1024**3
"""Bytes in a GiB."""

MEMORY_GIB = {False: 8.0, True: 3.0}
"""Free memory a lab takes, by ``simulated`` (GiB). Source: the sum of the parts' RSS in a running lab: control plane
1, vLLM 3, Pulumi with provider 1, gateway 0.2; the rest for the largest compile. Simulated: no vLLM, no gateway."""

STATE_GIB = {False: 4.0, True: 1.0}
"""Disk of the state folder, by ``simulated`` (GiB): images and their snapshots, etcd, logs."""

CACHE_GIB = {False: 16.0, True: 7.0}
"""Disk of the cache, by ``simulated`` (GiB): engine 6.5, Go modules and build cache 7, tools 1.5."""

MACHINES = ("x86_64", "aarch64")
"""Machines that engine and Go toolchain are published for."""

SIMULATED_HELPS = "or run `lab up --simulated`: control plane and simulated hosts only, without root"
"""What to do where a kubelet cannot run."""


@dataclass(frozen=True)
class Disk:
    """One file system and what goes there."""

    folder: Path
    free_gib: float
    needs: Mapping[str, float]
    """What for, and how much is still to come (GiB)."""


@dataclass(frozen=True)
class Facts:
    """What was found on this machine."""

    is_root: bool
    machine: str
    memory_gib: float
    disks: Sequence[Disk]
    no_controllers: frozenset[str]
    """cgroup controllers that a kubelet needs and this machine lacks."""
    cgroups_writable: bool
    kernel: Mapping[str, str]
    """What the kernel refused, and why."""
    packages: Sequence[packages.Package]
    """Those that are missing."""
    can_install: bool


def check(report: Report, *, simulated: bool) -> str:
    """Refuse a machine on which the lab could not run.

    Raises:
        ConfigError: one sentence for each thing that is missing.
    """
    report("looks at memory, disk, cgroups and kernel")
    facts = gather(simulated=simulated)
    if found := [*problems(facts, simulated=simulated)]:
        raise ConfigError(*found)
    others = [record.clone for record in registry.read_all() if record.is_alive and record.lab_id != paths.lab_id()]
    beside = f"; the lab of {', '.join(others)} runs too and is left alone" if others else ""
    free = ", ".join(f"{disk.free_gib:.0f} GiB free at {disk.folder}" for disk in facts.disks)
    return f"{facts.memory_gib:.0f} GiB memory, {free}{beside}"


def problems(facts: Facts, *, simulated: bool) -> Iterator[str]:
    """Everything that is missing, one sentence each."""
    if facts.machine not in MACHINES:
        yield f"machine — is {facts.machine!r} — allowed are {', '.join(MACHINES)} — use another machine"
    if facts.memory_gib < MEMORY_GIB[simulated]:
        yield (
            f"memory — {facts.memory_gib:.1f} GiB are free — {MEMORY_GIB[simulated]:.0f} GiB are needed — "
            f"end other programs{'' if simulated else f', {SIMULATED_HELPS}'}"
        )
    for disk in facts.disks:
        if disk.free_gib < sum(disk.needs.values()):
            what = " + ".join(f"{gib:.1f} for {name}" for name, gib in disk.needs.items())
            yield (
                f"disk — {disk.free_gib:.1f} GiB are free at {disk.folder} — {what} GiB are needed — make room, "
                "or set RAILWRIGHT_CACHE to a folder on another disk"
            )
    yield from _package_problems(facts)
    if not simulated:
        yield from _node_problems(facts)


def _package_problems(facts: Facts) -> Iterator[str]:
    if not facts.packages or (facts.is_root and facts.can_install):
        return
    names = " ".join(package.name for package in facts.packages)
    uses = "; ".join(f"{package.name} for {package.use}" for package in facts.packages)
    how = f"run: sudo apt-get install {names}" if facts.can_install else "install what your system calls them"
    yield f"packages — missing are {names} — all are needed ({uses}) — {how}"


def _node_problems(facts: Facts) -> Iterator[str]:
    if not facts.is_root:
        yield f"user — is not root — a kubelet needs root — run as root, {SIMULATED_HELPS}"
        # What the kernel allows root cannot be told from here, and would only be noise.
        return
    if absent := facts.no_controllers:
        yield (
            f"cgroups — without {', '.join(sorted(absent))} — a kubelet needs {', '.join(sorted(cgroups.NEEDED))} — "
            f"mount them, or enable them on the kernel's command line, {SIMULATED_HELPS}"
        )
    if not facts.cgroups_writable:
        yield (
            f"cgroups — /sys/fs/cgroup cannot be written — a kubelet makes its own groups — run outside this "
            f"container or give it the whole tree, {SIMULATED_HELPS}"
        )
    for name, why in facts.kernel.items():
        yield (
            f"kernel — {name} failed: {why} — the lab lives in namespaces with veth, bridge, nf_tables and overlay "
            f"— load the module (`modprobe {name}`) or lift the container's limits, {SIMULATED_HELPS}"
            if name != "namespaces"
            else f"kernel — new namespaces are refused: {why} — mount, network, PID and UTS namespaces are needed — "
            f"give this container CAP_SYS_ADMIN, {SIMULATED_HELPS}"
        )


def gather(*, simulated: bool) -> Facts:
    """Look at this machine; changes nothing."""
    is_root = os.geteuid() == 0
    return Facts(
        is_root=is_root,
        machine=platform.machine(),
        memory_gib=psutil.virtual_memory().available / GIB,
        disks=_disks(simulated=simulated),
        no_controllers=cgroups.missing(),
        cgroups_writable=all(os.access(root, os.W_OK) for root in cgroups.hierarchies().values()),
        kernel=kernel_probe.missing() if is_root and not simulated else {},
        packages=packages.missing(simulated=simulated),
        can_install=packages.has_apt(),
    )


def _disks(*, simulated: bool) -> list[Disk]:
    """The file systems of state and cache; what lies there already is not needed again."""
    wanted = {"state": (paths.state_dir(), STATE_GIB), "cache": (paths.cache_dir(), CACHE_GIB)}
    disks: dict[int, Disk] = {}
    for name, (folder, gib) in wanted.items():
        place = next(parent for parent in (folder, *folder.parents) if parent.exists())
        device = place.stat().st_dev
        known = disks.get(device)
        needs = {**(known.needs if known else {}), name: max(0.5, gib[simulated] - used_gib(folder))}
        disks[device] = Disk(known.folder if known else place, shutil.disk_usage(place).free / GIB, needs)
    return list(disks.values())


def used_gib(folder: Path) -> float:
    """Disk used below a folder (GiB), each file once and without following links."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(parent, name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return total / GIB
