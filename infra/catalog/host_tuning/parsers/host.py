"""What a host says of its disks, clock, kubelet and containers."""

from __future__ import annotations

import json
import re

from infra.catalog.host_tuning.parsers.text import UNSET
from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown


def mount(texts: Texts, argument: str) -> dict[str, str]:
    """File system of a mount point in ``/proc/mounts``; argument: its path."""
    return {argument: found[0]} if (found := _mounted(texts, argument)) else {argument: "not mounted"}


def array_level(texts: Texts, argument: str) -> dict[str, str]:
    """Level of the array that is mounted at a path, of ``/proc/mdstat``; ``one drive`` where there is no array."""
    name = _device(texts, argument)
    level = re.search(rf"^{re.escape(name)} : active (?:\([^)]*\) )?(\w+)", texts.get("/proc/mdstat", ""), re.MULTILINE)
    if name.startswith("md") and level is None:
        raise Unknown(f"/proc/mdstat does not list {name}")
    return {name: level[1] if level else "one drive"}


def read_ahead(texts: Texts, argument: str) -> dict[str, str]:
    """Read-ahead of what is mounted at a path (KiB)."""
    path = f"/sys/class/block/{_device(texts, argument)}/queue/read_ahead_kb"
    return {path: texts[path].strip()} if path in texts else {}


def mount_options(texts: Texts, argument: str) -> dict[str, str]:
    """Options that a mount point has."""
    found = _mounted(texts, argument)
    return {option: option for option in found[1].split(",")} if found else {}


def swap(texts: Texts, argument: str) -> dict[str, str]:
    """``kept`` when ``/proc/swaps`` has a row below its head."""
    return {place: "kept" if len(text.splitlines()) > 1 else "absent" for place, text in texts.items()}


def shared_memory(texts: Texts, argument: str) -> dict[str, str]:
    """Size of ``/dev/shm`` (KiB), or ``half`` of the memory where no option says it. Source: tmpfs(5)."""
    found = _mounted(texts, "/dev/shm")  # noqa: S108  a mount point, and no file of ours
    if not found:
        return {"/dev/shm": "not mounted"}  # noqa: S108  the same
    size = re.search(r"\bsize=(\d+)k", found[1])
    total = re.search(r"^MemTotal:\s+(\d+) kB", texts.get("/proc/meminfo", ""), re.MULTILINE)
    if size is None and total is None:
        raise Unknown("neither the size nor the host's memory is said")
    return {"/dev/shm": size[1] if size else str(int(total[1]) // 2 if total else 0)}  # noqa: S108  the same


def nfs_read_ahead(texts: Texts, argument: str) -> dict[str, str]:
    """Read-ahead of each mounted NFS volume (KiB): ``/proc/fs/nfsfs/volumes`` names their devices."""
    rows = [line.split() for line in texts.get("/proc/fs/nfsfs/volumes", "").splitlines()]
    devices = [row[3] for row in rows if len(row) > 3 and ":" in row[3]]
    paths = [f"/sys/class/bdi/{device}/read_ahead_kb" for device in devices]
    return {path: texts[path].strip() for path in paths if path in texts}


def idle_latency(texts: Texts, argument: str) -> dict[str, str]:
    """Longest wake-up of the idle states that each CPU may use (µs)."""
    found: dict[str, int] = {}
    for place, text in texts.items():
        folder, _, name = place.rpartition("/")
        if name == "latency" and texts.get(f"{folder}/disable", "0").strip() == "0":
            cpu = folder.partition("/cpuidle/")[0]
            if not text.strip().isdecimal():
                raise Unknown(f"{place} — says {text.strip()!r} — a number of microseconds is wanted — look")
            found[cpu] = max(found.get(cpu, 0), int(text))
    return {cpu: str(latency) for cpu, latency in found.items()}


def clock_offset(texts: Texts, argument: str) -> dict[str, str]:
    """Distance to the source of time (µs), of ``chronyc -c tracking``. Source: chronyc(1), tracking: System time."""
    return {"chrony": f"{abs(float(_tracking(texts)[4])) * 1_000_000:.0f}"}


def clock_sources(texts: Texts, argument: str) -> dict[str, str]:
    """How many sources the clock follows (count): one that is chosen, or its own where it serves others without any.

    Source: chronyc(1), sources: ``*`` is the one that is followed; tracking: 7F7F0101 is the host's own clock.
    """
    chosen = sum(len(re.findall(r"^[\^=#],\*,", text, re.MULTILINE)) for text in texts.values())
    tracking = {place: text for place, text in texts.items() if place.endswith("tracking")}
    return {"chrony": str(chosen or int(_tracking(tracking)[0] == "7F7F0101"))}


def clock_state(texts: Texts, argument: str) -> dict[str, str]:
    """Leap status, of ``chronyc -c tracking``."""
    return {"chrony": _tracking(texts)[13]}


def policy(texts: Texts, argument: str) -> dict[str, str]:
    """A manager's policy, as kubelet's configuration says it and as its state file has it; argument: the key."""
    found = {
        place: re.search(rf'(?:^{argument}: *|"policyName": *)"?([\w-]+)', text, re.MULTILINE)
        for place, text in texts.items()
    }
    return {place: match[1] for place, match in found.items() if match} or {"": UNSET}


def devices(texts: Texts, argument: str) -> dict[str, str]:
    """How many devices of a resource plugins have registered with kubelet, of its own checkpoint (count)."""
    found = {}
    for place, text in texts.items():
        try:
            registered = json.loads(text)["Data"]["RegisteredDevices"] or {}
        except (ValueError, KeyError, TypeError) as error:
            raise Unknown(f"kubelet's checkpoint cannot be read: {error!r}") from None
        found[place] = str(len(registered.get(argument) or ()))
    return found


def cgroup_driver(texts: Texts, argument: str) -> dict[str, str]:
    """Who makes cgroups, of ``containerd config dump``."""
    said = [match[1] for text in texts.values() for match in re.finditer(r"SystemdCgroup = (true|false)", text)]
    return {"containerd": "systemd" if "true" in said else "cgroupfs"} if said else {}


def cdi(texts: Texts, argument: str) -> dict[str, str]:
    """Whether containerd gives devices by CDI, of ``containerd config dump``."""
    said = [match[1] for text in texts.values() for match in re.finditer(r"enable_cdi = (true|false)", text)]
    return {"containerd": "enabled" if "true" in said else "disabled"} if said else {}


def cdi_driver(texts: Texts, argument: str) -> dict[str, str]:
    """Version of the driver whose libraries each CDI specification names, and of the one that is loaded."""
    found = {}
    for place, text in texts.items():
        if place == "/sys/module/nvidia/version":
            found[place] = text.strip()
        elif match := re.search(r"libcuda\.so\.(\d+\.[\d.]*\d)", text):
            found[place] = match[1]
    return found


def _mounted(texts: Texts, path: str) -> tuple[str, str, str] | None:
    """File system, options and device of what is mounted last at a path."""
    rows = [line.split() for line in texts.get("/proc/mounts", "").splitlines()]
    found = [(row[2], row[3], row[0]) for row in rows if len(row) > 3 and row[1] == path]
    return found[-1] if found else None


def _device(texts: Texts, path: str) -> str:
    """Name of the block device that is mounted at a path."""
    found = _mounted(texts, path)
    if found is None:
        raise Unknown(f"nothing is mounted at {path}")
    return found[2].rpartition("/")[2]


def _tracking(texts: Texts) -> list[str]:
    """Columns of the one row of ``chronyc -c tracking``."""
    rows = [line.split(",") for text in texts.values() for line in text.splitlines() if line.strip()]
    if len(rows) != 1 or len(rows[0]) < 14:
        raise Unknown("chronyc does not track")
    return rows[0]
