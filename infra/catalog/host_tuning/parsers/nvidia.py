"""What NVIDIA's driver and its programs say."""

from __future__ import annotations

import re

from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown

COLUMNS = (
    "pci.bus_id", "name", "driver_version", "vbios_version", "persistence_mode", "power.limit", "memory.total",
    "ecc.mode.current", "ecc.errors.uncorrected.volatile.total", "mig.mode.current", "pcie.link.gen.max",
    "pcie.link.width.current", "clocks_throttle_reasons.hw_power_brake_slowdown",
)  # fmt: skip
"""Asked of nvidia-smi in one go: it takes seconds to start with eight GPUs."""

REMAPS = ("gpu_bus_id", "remapped_rows.pending", "remapped_rows.failure")
"""Columns of remapped rows."""


def gpu(texts: Texts, argument: str) -> dict[str, str]:
    """One column of ``COLUMNS`` by PCI address."""
    return _column(texts, COLUMNS, argument)


def remap(texts: Texts, argument: str) -> dict[str, str]:
    """One column of ``REMAPS`` by PCI address."""
    return _column(texts, REMAPS, argument)


def links(texts: Texts, argument: str) -> dict[str, str]:
    """NVLinks of each GPU that are up (count), of ``nvidia-smi nvlink --status``."""
    found: dict[str, str] = {}
    for text in texts.values():
        for block in re.split(r"^(?=GPU \d+:)", text, flags=re.MULTILINE):
            if head := re.match(r"GPU \d+", block):
                found[head[0]] = str(len(re.findall(r"Link \d+: [\d.]+ GB/s", block)))
    return found


def switches(texts: Texts, argument: str) -> dict[str, str]:
    """What connects the GPUs: NICs that manage NVLink-5 switches, switches that are PCIe devices, or nothing.

    Source: gpu-driver-container _assert_nvlink5_system: vital product data with SW_MNG; NVSwitches are 10de:,
    class 0680.
    """
    if any("SW_MNG" in text for place, text in texts.items() if place.endswith("/vpd")):
        return {"": "nvlink5"}
    listed = "\n".join(text for place, text in texts.items() if place.startswith("lspci "))
    return {"": "nvswitch" if re.search(r"\[0680\]: .*\[10de:", listed) else "none"}


def management_ports(texts: Texts, argument: str) -> dict[str, str]:
    """Ports of the NICs of NVLink-5 switches that a subnet manager may work through, and can (count).

    Source: siderolabs/extensions#893, #895: some of those NICs forbid it, by bit 10 (isSMdisabled) of their port's
    capability mask; InfiniBand Architecture Specification, PortInfo.
    """
    nics = {place.split("/")[4] for place, text in texts.items() if place.endswith("/vpd") and "SW_MNG" in text}
    reached = {text.strip() for place, text in texts.items() if place.startswith("/sys/class/infiniband_mad/")}
    free = {place.split("/")[4] for place, text in texts.items() if place.endswith("/cap_mask") and _is_free(text)}
    return {"": str(len(nics & reached & free))}


def counted(texts: Texts, argument: str) -> dict[str, str]:
    """How many GPUs there are (count), by each who counts them: the bus, the driver, nvidia-smi."""
    folders = {place for place in texts if place.startswith("/proc/driver/nvidia/gpus/")}
    found = {"/proc/driver/nvidia/gpus": len(folders)}
    for place, text in texts.items():
        if place.startswith("lspci "):
            found["lspci"] = len(re.findall(r"^\S+ .*\[030[02]\]: .*\[10de:", text, re.MULTILINE))
        elif place not in folders:
            found["nvidia-smi"] = len(text.splitlines())
    return {who: str(count) for who, count in found.items()}


def peermem(texts: Texts, argument: str) -> dict[str, str]:
    """``absent``, ``loaded``, or loaded before there was an RDMA stack that it could register with (nccl#1537)."""
    if not re.search(r"^nvidia_peermem\b", texts.get("/proc/modules", ""), re.MULTILINE):
        return {"": "absent"}
    is_known = any(place.startswith("/sys/kernel/mm/memory_peers/") for place in texts)
    return {"": "loaded" if is_known else "loaded, and not registered"}


def _is_free(mask: str) -> bool:
    """Whether a port's capability mask lets a subnet manager work through it."""
    if not re.fullmatch(r"0x[0-9a-f]{1,8}", mask.strip()):
        raise Unknown(f"{mask.strip()!r} is no capability mask")
    return not int(mask, 16) & 1 << 10


def _column(texts: Texts, columns: tuple[str, ...], wanted: str) -> dict[str, str]:
    number, found = columns.index(wanted), {}
    for text in texts.values():
        for line in filter(str.strip, text.splitlines()):
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) != len(columns) or cells[number].strip("[]") in ("N/A", "Not Supported", "Unknown Error"):
                raise Unknown(f"nvidia-smi says: {line.strip()[:80]}")
            found[cells[0]] = cells[number]
    return found
