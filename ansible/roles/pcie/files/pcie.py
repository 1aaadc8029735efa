"""Bring PCIe devices of this host to what is wanted, or tell what is not as wanted.

``pcie.py tell|apply SETTINGS``: a line for each thing that is otherwise. Settings, as JSON: ``acs`` (SrcValid- or
SrcValid+), ``max_read_request`` (bytes), ``relaxed_ordering`` (RlxdOrd+ or RlxdOrd-), ``power_saving``. The kernel
forgets all of them at a boot, or when a device is reset.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Change = tuple[str, Callable[[], Any]]
"""What is otherwise, and what mends it."""

NICS = ("0x0200", "0x0207")
"""First digits of the classes of Ethernet and InfiniBand controllers. Source: PCI ID repository, class 02."""

VENDOR = "0x15b3"
"""Mellanox. Source: PCI ID repository."""

EXPRESS, ACS = 0x10, 0x000D
"""Capability PCI Express, and extended capability of access control. Source: Linux, pci_regs.h."""

DEVICE_CONTROL, ACS_CONTROL = 8, 6
"""Place of the control word within them (bytes). Source: Linux, PCI_EXP_DEVCTL, PCI_ACS_CTRL."""

RELAXED, READ_REQUEST, READ_REQUEST_SHIFT = 0x0010, 0x7000, 12
"""Bits of device control. Source: Linux, PCI_EXP_DEVCTL_RELAX_EN, PCI_EXP_DEVCTL_READRQ."""

CAPABILITIES, EXTENDED = 0x34, 0x100
"""Where the two lists of capabilities begin (bytes). Source: Linux, PCI_CAPABILITY_LIST, PCI_CFG_SPACE_SIZE."""


def changes(settings: dict[str, Any], root: Path) -> Iterator[Change]:
    """All that is not as wanted.

    Args:
        root: folder of ``sys``.
    """
    for device in sorted(root.glob("sys/bus/pci/devices/*")):
        config = (device / "config").read_bytes()
        if settings["acs"] == "SrcValid-" and (at := _extended(config, ACS)):
            yield from _word(device, config, at + ACS_CONTROL, 0, "access control")
        is_nic = (device / "class").read_text().startswith(NICS) and (device / "vendor").read_text().strip() == VENDOR
        if is_nic and (at := _capability(config, EXPRESS)):
            at += DEVICE_CONTROL
            yield from _word(device, config, at, _device_control(_at(config, at), settings), "device control")
    yield from _power_saving(root / "sys/module/pcie_aspm/parameters/policy", settings["power_saving"])


def _device_control(now: int, settings: dict[str, Any]) -> int:
    """Control word with relaxed ordering as wanted, and a read request that is at least as large."""
    code = max((now & READ_REQUEST) >> READ_REQUEST_SHIFT, settings["max_read_request"].bit_length() - 8)
    relaxed = RELAXED if settings["relaxed_ordering"] == "RlxdOrd+" else 0
    return int(now & ~(READ_REQUEST | RELAXED) | code << READ_REQUEST_SHIFT | relaxed)


def _power_saving(policy: Path, wanted: str) -> Iterator[Change]:
    """One of several words, chosen in brackets, or one alone. A kernel without link power saving has no such file."""
    said = policy.read_text().strip() if policy.exists() else wanted
    if said != wanted and f"[{wanted}]" not in said:
        yield f"{policy} says {said}, wanted is {wanted}", lambda: policy.write_text(wanted)


def _word(device: Path, config: bytes, at: int, wanted: int, what: str) -> Iterator[Change]:
    if (found := _at(config, at)) != wanted:
        yield f"{what} of {device.name} is {found:#06x}, wanted is {wanted:#06x}", lambda: _write(device, at, wanted)


def _write(device: Path, at: int, value: int) -> None:
    file = os.open(device / "config", os.O_WRONLY)
    try:
        os.pwrite(file, struct.pack("<H", value), at)
    finally:
        os.close(file)


def _capability(config: bytes, wanted: int) -> int:
    """Where a capability begins; 0 when there is none. A list that goes in a circle is left after its length."""
    at = config[CAPABILITIES] & ~3
    for _ in range(64):
        if not at or config[at] == wanted:
            return at
        at = config[at + 1] & ~3
    return 0


def _extended(config: bytes, wanted: int) -> int:
    """Where an extended capability begins; 0 when there is none, as on a device that is not PCI Express."""
    at = EXTENDED
    while at and at + 4 <= len(config):
        (head,) = struct.unpack_from("<I", config, at)
        if head & 0xFFFF == wanted:
            return at
        # The next one is further on, else the list would never end.
        at = head >> 20 if head >> 20 > at else 0
    return 0


def _at(config: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", config, at)[0])


def main(mode: str, settings: str, root: Path = Path("/")) -> None:
    """Tell or apply; a write that is refused keeps none of the others, and is told at the end."""
    refused = []
    for said, mend in list(changes(json.loads(settings), root)):
        print(said)
        if mode == "apply":
            try:
                mend()
            except OSError as error:
                refused.append(f"{said}, and could not be written: {error.strerror}")
    if refused:
        raise SystemExit("\n".join(refused))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
