"""Bring CPUs, memory and interrupts of this host to what is wanted, or tell what is not as wanted.

``cpu.py tell|apply SETTINGS``: a line for each file that says otherwise. Settings, as JSON: ``governor``,
``idle_latency`` (us), ``transparent_hugepages``, ``irq_affinity`` (local or any).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Change = tuple[Path, str, str]
"""File, what it says, what is to be written."""

NIC = "0x02"
"""First digits of the class of network controllers. Source: PCI ID repository, class 02."""


def changes(settings: dict[str, Any], root: Path) -> Iterator[Change]:
    """All that is not as wanted.

    Args:
        root: folder of ``sys`` and ``proc``.
    """
    yield from _governors(root / "sys/devices/system/cpu", settings["governor"])
    yield from _idle_states(root / "sys/devices/system/cpu", settings["idle_latency"])
    yield from _chosen(root / "sys/kernel/mm/transparent_hugepage/enabled", settings["transparent_hugepages"])
    if settings["irq_affinity"] == "local":
        yield from _interrupts(root)


def _governors(cpus: Path, wanted: str) -> Iterator[Change]:
    for path in sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")):
        offered = path.with_name("scaling_available_governors")
        if offered.exists() and wanted not in offered.read_text().split():
            raise SystemExit(
                f"{path} — governor {wanted!r} is wanted — {' or '.join(offered.read_text().split())} is allowed — "
                "set cpu_governor to one of them"
            )
        yield from _plain(path, wanted)


def _idle_states(cpus: Path, most: int) -> Iterator[Change]:
    """Switch off what takes longer to wake up from, and on what was switched off for a smaller limit."""
    for state in sorted(cpus.glob("cpu[0-9]*/cpuidle/state[0-9]*")):
        is_slow = int(_text(state / "latency")) > most
        by_firmware = state / "default_status"
        if not is_slow and by_firmware.exists() and _text(by_firmware) == "disabled":
            continue
        yield from _plain(state / "disable", "1" if is_slow else "0")


def _interrupts(root: Path) -> Iterator[Change]:
    """Of each NIC, those that may come to a CPU that is not near it."""
    for device in sorted(root.glob("sys/bus/pci/devices/*")):
        if not _text(device / "class").startswith(NIC) or not (device / "msi_irqs").is_dir():
            continue
        near = _text(device / "local_cpulist")
        for vector in sorted((device / "msi_irqs").iterdir()):
            path = root / "proc/irq" / vector.name / "smp_affinity_list"
            if near and path.exists() and not _cpus(_text(path)) <= _cpus(near):
                yield path, _text(path), near


def _cpus(words: str) -> set[int]:
    """CPUs of a list such as ``0-3,8``."""
    ranges = (word.partition("-") for word in words.split(",") if word)
    return {cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)}


def _plain(path: Path, wanted: str) -> Iterator[Change]:
    if path.exists() and _text(path) != wanted:
        yield path, _text(path), wanted


def _chosen(path: Path, wanted: str) -> Iterator[Change]:
    """One of several words, chosen in brackets, or one alone."""
    if path.exists() and _text(path) != wanted and f"[{wanted}]" not in _text(path):
        yield path, _text(path), wanted


def _text(path: Path) -> str:
    return path.read_text().strip()


def main(mode: str, settings: str, root: Path = Path("/")) -> None:
    """Tell or apply; a write that the kernel refuses keeps none of the others, and is told at the end."""
    refused = []
    for path, found, wanted in list(changes(json.loads(settings), root)):
        print(f"{path} says {found}, wanted is {wanted}")
        if mode == "apply":
            try:
                path.write_text(wanted)
            except OSError as error:
                refused.append(f"{path} did not take {wanted}: {error.strerror}")
    if refused:
        raise SystemExit("\n".join(refused))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
