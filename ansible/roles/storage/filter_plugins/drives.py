"""What is on drives: whether a drive may be taken, and whether it is taken already, by us."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Device = Mapping[str, Any]
"""A block device as ``lsblk --json`` prints it, with what lies on it under ``children``."""


class FilterModule:
    """The filters of this file, as Ansible looks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"drive_faults": drive_faults, "drives_are_ours": drives_are_ours, "array_of_drives": array_of_drives}


def drive_faults(lsblk: str, devices: Iterable[str], label: str, path: str) -> list[str]:
    """Why drives may not be taken, a sentence each; drives that are ours already are no fault.

    Args:
        lsblk: output of ``lsblk --json`` with PATH, TYPE, FSTYPE, LABEL, PTTYPE and MOUNTPOINTS of the devices.
        path: where ours is mounted.
    """
    found = _devices(lsblk)
    names = list(devices)
    short = (
        [f"{len(names) - len(found)} of {', '.join(names)} are no drives, or twice the same"]
        if len(found) < len(names)
        else []
    )
    ours = [
        device["path"] for device in found if any(_is_ours(one, label) for one in _all(device) if one.get("fstype"))
    ]
    mixed = [f"{', '.join(ours)} are in use by us already, and not the others"] if 0 < len(ours) < len(found) else []
    return [*short, *mixed, *(fault for device in found for fault in _faults(device, label, path))]


def drives_are_ours(lsblk: str, label: str) -> bool:
    """Whether the file system is on all of them."""
    found = _devices(lsblk)
    return bool(found) and all(
        any(one.get("label") == label and one.get("fstype") == "xfs" for one in _all(device)) for device in found
    )


def array_of_drives(lsblk: str, label: str) -> str:
    """Path of our array that runs on all of them; empty: there is none.

    It is known by its members, as the name below /dev/md that it was made with may be another after a boot.
    """
    found = _devices(lsblk)
    arrays = [
        {one["path"] for one in device.get("children") or []}
        for device in found
        if device.get("fstype") == "linux_raid_member" and _is_ours(device, label)
    ]
    return min(set.intersection(*arrays), default="") if found and len(arrays) == len(found) else ""


def _devices(lsblk: str) -> list[Device]:
    return list(json.loads(lsblk or "{}").get("blockdevices", []))


def _faults(device: Device, label: str, path: str) -> Iterator[str]:
    if device["type"] != "disk":
        yield f"{device['path']} is a {device['type']}, not a whole drive"
    for one in _all(device):
        places = [place for place in one.get("mountpoints") or [] if place and place != path]
        if places:
            yield f"{one['path']} is mounted at {', '.join(places)}"
        elif one["type"] == "part" or one.get("pttype"):
            yield f"{one['path']} has partitions" if one.get("pttype") else f"{one['path']} is a partition"
        elif one.get("fstype") and not _is_ours(one, label):
            yield f"{one['path']} has {one['fstype']}{_named(one)}"
        elif one.get("fstype") == "linux_raid_member" and not one.get("children"):
            yield f"{one['path']} is of our array, which does not run: mdadm --assemble --scan starts it"


def _is_ours(one: Device, label: str) -> bool:
    """A file system of our label, or a member of an array that carries one."""
    if one["fstype"] == "linux_raid_member":
        return str(one.get("label") or "").rpartition(":")[2] == label
    return one["fstype"] == "xfs" and one.get("label") == label


def _named(one: Device) -> str:
    return f" named {one['label']}" if one.get("label") else ""


def _all(device: Device) -> Iterator[Device]:
    yield device
    for child in device.get("children") or []:
        yield from _all(child)
