"""Boards: what one host of a pool brings, whatever its vendor."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.gpus import GPUS, Gpu


@dataclass(frozen=True, slots=True)
class Board:
    """The GPU baseboard of one host with the host around it."""

    name: str
    gpu: Gpu | None
    """None on a host without GPUs."""
    gpus: int
    """GPUs on one host; all of them share one NVLink domain (count)."""
    rails: int
    """NICs of the compute fabric, one per rail (count)."""
    rail_gbit: int
    """Speed of one rail (Gbit/s)."""
    cpus: int
    """Logical CPUs of one host (count)."""
    memory_gib: int
    """Memory that pods may take (GiB); on the lab host less than it has, the control plane is there too."""
    ephemeral_gib: int
    """Local disk that pods may use (GiB)."""
    pci_device: str
    """``10de:`` device id of the GPU, empty without GPUs."""
    source: str
    arch: str = "amd64"
    """Architecture of its CPUs, as Kubernetes calls it."""


BOARDS = {
    board.name: board
    for board in (
        Board("hgx-b300", GPUS["b300"], 8, 8, 800, 256, 2_000, 28_000, "3182",
              "DGX B300 user guide (2x Xeon 6776P, 8x ConnectX-8 on the board); ids from open-gpu-kernel-modules"),
        Board("hgx-b200", GPUS["b200"], 8, 8, 400, 224, 2_000, 28_000, "2901",
              "DGX B200 user guide (2x Xeon 8570, 2 TB, 8x ConnectX-7, 8x 3.84 TB NVMe)"),
        Board("hgx-h200", GPUS["h200"], 8, 8, 400, 224, 2_000, 28_000, "2335",
              "DGX H200 user guide (2x Xeon 8480C, 2 TB, 8x ConnectX-7, 8x 3.84 TB NVMe)"),
        Board("hgx-h100", GPUS["h100"], 8, 8, 400, 224, 2_000, 28_000, "2330",
              "DGX H100 user guide (2x Xeon 8480C, 2 TB, 8x ConnectX-7, 8x 3.84 TB NVMe)"),
        Board("nvl72-gb200", GPUS["gb200"], 4, 4, 400, 144, 900, 14_000, "2941",
              "DGX GB200 user guide: a tray of two GB200 superchips (2x Grace, 960 GB, 4x ConnectX-7), 18 to a rack; "
              "disk: the smallest that clouds give; device id from open-gpu-kernel-modules, from memory", "arm64"),
        Board("nvl72-gb300", GPUS["gb300"], 4, 4, 800, 144, 900, 14_000, "31c2",
              "DGX GB300 user guide: a tray of two GB300 superchips (2x Grace, 960 GB, 4x ConnectX-8), 18 to a rack; "
              "disk: the smallest that clouds give; device id from open-gpu-kernel-modules, from memory", "arm64"),
        Board("lab-host", None, 0, 0, 0, 2, 16, 20, "",
              "the smallest machine that the embedded lab supports (README, First token)"),
    )
}  # fmt: skip
"""By name. Hosts of ``nvl72`` boards share the NVLink domain of their rack, of which one replica takes one host's part
here. CPUs count hyper-threads; memory is what the reference system ships, smaller hosts exist."""
