"""One cgroup per lab in each hierarchy, so that going away is complete and known by name."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from infra.errors import CheckError, ConfigError

UNIFIED = Path("/sys/fs/cgroup")
"""Where cgroup v2 is mounted, or the folder of the v1 hierarchies."""

NEEDED = frozenset({"cpu", "cpuacct", "cpuset", "memory", "pids"})
"""Controllers without which a kubelet does not start. Source: kubelet's cgroup v1 allow-list; v2 has no cpuacct."""

LAB_ID = "[0-9a-f]" * 8
"""Pattern of a lab's id; whatever else has a similar name is not ours."""

MOUNT_OPTIONS = frozenset({"rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec"})
"""Words beside the controllers' names in the options of a v1 mount."""

PARTS = "parts"
"""Child that holds the lab's own programs; pods live beside it, for v2 allows processes in leaves only."""

EMPTY_SECONDS = 10.0
"""How long a cgroup may stay busy after its last process was killed (s)."""


def is_unified() -> bool:
    """True on cgroup v2."""
    return (UNIFIED / "cgroup.controllers").exists()


def hierarchies() -> dict[str, Path]:
    """Mount point of each hierarchy, named by its controllers; v2 is ``unified``, also where it stands beside v1."""
    if is_unified():
        return {"unified": UNIFIED}
    found = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == "cgroup2":
            found["unified"] = Path(where)
        elif kind == "cgroup":
            names = [word for word in options.split(",") if word not in MOUNT_OPTIONS]
            found[",".join(names)] = Path(where)
    return found


def controllers() -> frozenset[str]:
    """Controllers that this machine offers."""
    if is_unified():
        return frozenset((UNIFIED / "cgroup.controllers").read_text().split())
    return frozenset(name for names in hierarchies() for name in names.split(","))


def missing() -> frozenset[str]:
    """Controllers that a kubelet needs and that are not there."""
    needed = NEEDED - {"cpuacct"} if is_unified() else NEEDED
    return needed - controllers()


def enter(name: str, pid: int, hosts: Iterable[str]) -> None:
    """Make a lab's cgroups and put a process, with all its children to come, into them.

    Args:
        hosts: real hosts, each of which gets a cgroup for its pods.
    """
    for root in hierarchies().values():
        for folder in (root / name, *(root / name / child for child in (PARTS, *hosts))):
            folder.mkdir(exist_ok=True)
            _inherit(folder)
        (root / name / PARTS / "cgroup.procs").write_text(str(pid))


def _inherit(folder: Path) -> None:
    """Hand the parent's CPUs, memory nodes (v1) or controllers (v2) down to a new cgroup."""
    for setting in ("cpuset.cpus", "cpuset.mems"):
        if (folder / setting).exists() and not is_unified():
            (folder / setting).write_text((folder.parent / setting).read_text())
    if is_unified():
        offered = (folder.parent / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{one}" for one in offered if one in NEEDED | {"io", "hugetlb"})
        try:
            (folder.parent / "cgroup.subtree_control").write_text(wanted)
        except OSError as error:
            raise ConfigError(
                f"cgroup {folder.parent} — refuses to hand on {wanted!r}: {error} — a kubelet needs these — "
                "run on the machine itself, not inside a container, or use `lab up --simulated`"
            ) from error


def names() -> set[str]:
    """Names of all labs' cgroups on this machine."""
    roots = hierarchies().values()
    return {folder.name for root in roots for folder in root.glob(f"railwright-{LAB_ID}") if folder.is_dir()}


def processes(name: str) -> set[int]:
    """Every process in a lab's cgroups."""
    found: set[int] = set()
    for root in hierarchies().values():
        for file in (root / name).rglob("cgroup.procs"):
            try:
                found.update(int(word) for word in file.read_text().split())
            except OSError:
                continue
    return found


def remove(name: str) -> None:
    """Remove a lab's cgroups; its processes must have ended.

    Raises:
        CheckError: one is still busy after a while.
    """
    deadline = time.monotonic() + EMPTY_SECONDS
    while any(not _remove_tree(root / name) for root in hierarchies().values()):
        if time.monotonic() > deadline:
            raise CheckError(
                f"cgroup {name} — processes {sorted(processes(name))} are still in it — it had to be empty — "
                "end them and run `lab down` again"
            )
        time.sleep(0.1)


def _remove_tree(top: Path) -> bool:
    """Remove a cgroup bottom-up; False when something in it is busy."""
    if not top.is_dir():
        return True
    folders = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
    for folder in (*folders, top):
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True
