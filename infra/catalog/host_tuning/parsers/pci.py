"""What lspci says of bridges, NICs and GPUs: ``lspci -D -nn -vvv`` as root."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the listing."""

    address: str
    kind: str
    """Its class, such as ``0302``."""
    id: str
    """Vendor and device, such as ``10de:3182``."""
    text: str


def acs(texts: Texts, argument: str) -> dict[str, str]:
    """Whether each bridge that can do so checks the source of requests.

    Source: NCCL user guide, troubleshooting of GPUs: all of them have to say ``SrcValid-``.
    """
    return _fields(_devices(texts), r"ACSCtl:\s+(SrcValid[+-])")


def field(texts: Texts, argument: str) -> dict[str, str]:
    """Of each device of a vendor what the group of a pattern matches; argument: vendor, a space, the pattern."""
    vendor, _, found = argument.partition(" ")
    return _fields(_of(texts, vendor), found)


def links(texts: Texts, argument: str) -> dict[str, str]:
    """``full``, or what a vendor's device runs at and could: ``16GT/s x8 of 32GT/s x16``."""
    found = {}
    for device in _of(texts, argument):
        can = re.search(r"LnkCap:.*?Speed ([\d.]+GT/s).*?Width (x\d+)", device.text)
        has = re.search(r"LnkSta:.*?Speed ([\d.]+GT/s).*?Width (x\d+)", device.text)
        if can and has:
            is_full = can.groups() == has.groups()
            found[device.address] = "full" if is_full else f"{' '.join(has.groups())} of {' '.join(can.groups())}"
    return found


def devices(texts: Texts, argument: str) -> dict[str, str]:
    """How many devices of each id there are; argument: vendor and classes, as in ``10de 0300 0302``."""
    vendor, *kinds = argument.split()
    counts = Counter(device.id for device in _devices(texts) if device.id[:4] == vendor and device.kind in kinds)
    return {"": ", ".join(f"{count} x {device}" for device, count in sorted(counts.items())) or "none"}


def paths(texts: Texts, argument: str) -> dict[str, str]:
    """The nearest NIC of each GPU in the matrix of ``nvidia-smi topo -m``: PIX is one bridge away, SYS the farthest.

    Source: the legend that nvidia-smi prints below the matrix.
    """
    order = ("PIX", "PXB", "PHB", "NODE", "SYS")
    rows = [re.sub(r"\x1b\[\d*m", "", line).split("\t") for text in texts.values() for line in text.splitlines()]
    head = next((row for row in rows if "GPU0" in [cell.strip() for cell in row[1:]]), None)
    if head is None:
        raise Unknown("nvidia-smi shows no matrix")
    nics = [index for index, cell in enumerate(head) if re.match(r"NIC\d|mlx5_", cell.strip())]
    found = {}
    for row in rows:
        if re.fullmatch(r"GPU\d+", row[0].strip()):
            near = [row[index].strip() for index in nics if index < len(row)]
            found[row[0].strip()] = min((word for word in near if word in order), key=order.index, default="none")
    return found


def _of(texts: Texts, vendor: str) -> list[Device]:
    """Network controllers and GPUs of a vendor; its bridges and audio functions have links and rules of their own."""
    return [one for one in _devices(texts) if one.id[:4] == vendor and one.kind[:2] in ("02", "03")]


def _devices(texts: Texts) -> list[Device]:
    found = list(_split(texts))
    if any("<access denied>" in device.text for device in found):
        raise Unknown("lspci may not read capabilities; it needs root")
    return found


def _split(texts: Texts) -> Iterator[Device]:
    head = re.compile(r"(\S+) .*?\[([0-9a-f]{4})\]: .*\[([0-9a-f]{4}:[0-9a-f]{4})\]")
    for text in texts.values():
        for block in re.split(r"\n(?=\S)", text):
            match = head.match(block)
            if match:
                yield Device(match[1], match[2], match[3], block)


def _fields(found: list[Device], pattern: str) -> dict[str, str]:
    matches = {device.address: re.search(pattern, device.text) for device in found}
    return {address: match[1] for address, match in matches.items() if match}
