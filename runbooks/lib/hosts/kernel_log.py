"""Faults that a host's kernel log tells of: Xids of GPUs, SXids of NVSwitches, what the driver of NICs says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from infra.catalog import xids
from infra.catalog.xids import NIC_FAULTS, Action

QUIET = timedelta(seconds=60)
"""Within this long the same fault of the same device is one. Source: our choice; drivers repeat lines for seconds."""

SKEW = timedelta(days=1)
"""By how much a line without a year may be ahead of our clock. Source: our choice."""

YEARS = 8
"""How many years back the 29th of February may lie (count)."""

LONGEST = 1024
"""Characters of a line that are kept; a check's evidence is no longer."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one device."""

    kind: Literal["xid", "sxid", "nic"]
    device: str
    """PCI address as the line has it, such as ``0000:9b:00``, or an interface; empty: the line names none."""
    code: int
    """Xid or SXid; 0 of a NIC, and of a line whose code cannot be read."""
    name: str
    """Short name of a NIC's fault; empty otherwise."""
    action: Action
    text: str
    """The line from the driver's name on."""
    at: datetime | None = None
    """When; None: the line does not tell."""

    @property
    def said(self) -> str:
        """What it is and what it asks for, in one line."""
        code = f" {self.code}" if self.code else " without a code that can be read"
        what = f"NIC: {self.name}" if self.kind == "nic" else f"{'Xid' if self.kind == 'xid' else 'SXid'}{code}"
        again = xids.again(self.code) if self.kind == "xid" else ""
        return f"{self.device or 'a device'} {what}: {self.action}{again}"


def faults(lines: Iterable[str], *, now: datetime, boot: datetime | None = None) -> Iterator[Fault]:
    """Find the faults in lines of ``dmesg``, ``journalctl -k``, ``/dev/kmsg`` or a syslog file.

    Args:
        now: with a zone, which lines without one are taken to be in; lines without a year are of the last that fits.
        boot: when the host was booted, for lines that count from there.
    """
    for line in lines:
        found = _xid(line) or _sxid(line) or _nic(line)
        if found is not None:
            kind, device, code, name, action, start = found
            yield Fault(kind, device, code, name, action, line[start:].strip()[:LONGEST], _time(line, now, boot))


def news(found: Iterable[Fault]) -> Iterator[Fault]:
    """Tell each fault of a device once until it was quiet for a while; those without a time once for all."""
    last: dict[tuple[str, str, int, str], datetime | None] = {}
    for fault in found:
        key = (fault.kind, fault.device, fault.code, fault.text if fault.code == 0 else fault.action)
        before = last.get(key)
        is_known = key in last and (fault.at is None or before is None or fault.at - before <= QUIET)
        last[key] = fault.at
        if not is_known:
            yield fault


def standing(found: Iterable[Fault], lines: Iterable[str]) -> list[Fault]:
    """Leave out links that came back: of a link the last word counts.

    Args:
        lines: those in which the faults were found.
    """
    last = {
        match["device"]: match[0] for line in lines if (match := re.search(rf"{_DEVICE}.*\bLink (up|down)\b", line))
    }
    return [one for one in found if one.name != "link down" or not last.get(one.device, "").endswith("up")]


def worst(found: Iterable[Fault]) -> dict[str, Fault]:
    """The fault of each device that asks for most; what a device needs first is not done by doing less."""
    each: dict[str, Fault] = {}
    for fault in found:
        before = each.get(fault.device)
        if before is None or fault.action.rank > before.action.rank:
            each[fault.device] = fault
    return each


_Found = tuple[Literal["xid", "sxid", "nic"], str, int, str, Action, int]

_DEVICE = r"mlx5_core (?P<device>[^\s:]+(?::[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])?)"
"""A PCI address, or the name of an interface."""


def _xid(line: str) -> _Found | None:
    match = re.search(r"NVRM: Xid \((?:PCI:)?([^)]*)\): (?:(\d+)\b)?(.*)", line)
    if match is None:
        return None
    code = int(match[2] or 0)
    return "xid", match[1], code, "", _driver_says(match[3]) if code == 154 else xids.action(code), match.start()


def _driver_says(text: str) -> Action:
    """What the driver asks for: the last word in brackets, as in ``from 0x0 (None) to 0x1 (GPU Reset Required)``."""
    words = re.findall(r"\(([^)]*)\)", text)
    return xids.DRIVER_SAYS.get(words[-1], Action.ASK) if words else Action.ASK


def _sxid(line: str) -> _Found | None:
    match = re.search(r"nvidia-nvswitch\d+:? SXid \(PCI:([^)]*)\): (?:(\d+)\b)?(?:, )?(.*)", line)
    if match is None:
        return None
    code = int(match[2] or 0)
    return "sxid", match[1], code, "", xids.sxid_action(code, match[3]) if code else Action.ASK, match.start()


def _nic(line: str) -> _Found | None:
    start = re.search(r"mlx5_|NETDEV WATCHDOG: \S+ \(mlx5_core\)", line)
    if start is None:
        return None
    for fault in NIC_FAULTS:
        if re.search(fault.pattern, line):
            device = re.search(rf"{_DEVICE}|WATCHDOG: (?P<interface>\S+)", line)
            name = (device["device"] or device["interface"]) if device else ""
            return "nic", name, 0, fault.name, fault.action, start.start()
    return None


def _time(line: str, now: datetime, boot: datetime | None) -> datetime | None:
    if match := re.match(r"(\d{4}-\d\d-\d\dT[\d:]{8}(?:[.,]\d{1,6})?)(Z|[+-]\d\d:?\d\d)?", line):
        at = datetime.fromisoformat(match[1].replace(",", ".") + (match[2] or ""))
        return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
    if match := re.match(r"(?:<\d+>)?\[\s*(\d+\.\d+)\]", line):
        return boot + timedelta(seconds=float(match[1])) if boot else None
    if match := re.match(r"\d+,\d+,(\d+),", line):
        return boot + timedelta(microseconds=int(match[1])) if boot else None
    if match := re.match(r"(?:<\d+>|\[)?(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d+) ([\d:]{8})(?: (\d{4})\])?", line):
        return _dated(match, now)
    return None


def _dated(match: re.Match[str], now: datetime) -> datetime | None:
    """Time of a line with month and day, and mostly no year: the last one that is not ahead of us."""
    for year in [int(match[4])] if match[4] else range(now.year + 1, now.year - YEARS - 1, -1):
        try:
            said = f"{year} {match[1]} {match[2]} {match[3]}"
            at = datetime.strptime(said, "%Y %b %d %H:%M:%S").replace(tzinfo=now.tzinfo)
        except ValueError:
            continue
        if match[4] or at <= now + SKEW:
            return at
    return None
