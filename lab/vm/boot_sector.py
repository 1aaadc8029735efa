"""The first sectors of a disk that a BIOS starts: GRUB's two parts and a table with one partition."""

from __future__ import annotations

import struct
from pathlib import Path

from infra.errors import CheckError

SECTOR = 512
"""Bytes of a sector."""

FIRST_SECTOR = 2048
"""Where the partition begins (sectors): 1 MiB, as all tools align it; GRUB's second part lies in the gap before."""

TABLE = 446
"""Where the table of partitions begins in the first sector (bytes)."""

_ACTIVE, _LINUX, _BEYOND = 0x80, 0x83, b"\xfe\xff\xff"
_SIGNATURE = b"\x55\xaa"


def sectors(boot: bytes, core: bytes, disk_bytes: int) -> bytes:
    """The first sectors of a disk, up to the end of GRUB's second part.

    GRUB's first part looks for the second in the sector after it unless told otherwise, and the second finds the rest
    of itself in the sectors after that: so no block lists are to be written.

    Args:
        boot: GRUB's ``boot.img``, one sector.
        core: what ``grub-mkimage --format=i386-pc`` made.
        disk_bytes: size of the whole disk.
    Raises:
        CheckError: the second part does not fit before the partition.
    Source: GRUB 2.06, boot/i386/pc/boot.S and diskboot.S.
    """
    room = (FIRST_SECTOR - 1) * SECTOR
    if len(boot) != SECTOR or len(core) > room:
        raise CheckError(
            f"boot loader — has parts of {len(boot)} and {len(core)} bytes — {SECTOR} and at most {room} fit — "
            "take modules out of lab/vm/customize.sh"
        )
    count = disk_bytes // SECTOR - FIRST_SECTOR
    # Cylinders and heads mean nothing beyond 8 GiB or on disks that never had any.
    entry = struct.pack("<B3sB3sII", _ACTIVE, _BEYOND, _LINUX, _BEYOND, FIRST_SECTOR, count)
    return boot[:TABLE] + entry + bytes(48) + _SIGNATURE + core


def write(disk: Path, boot: bytes, core: bytes) -> None:
    """Write them to a disk whose partition is there already."""
    with disk.open("r+b") as file:
        file.write(sectors(boot, core, disk.stat().st_size))
