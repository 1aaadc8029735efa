"""One virtual machine as it is to be: its place, its addresses, and the command that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEMORY_MIB = 1024
"""Memory of one machine (MiB): Debian takes 120, package installs 200, huge pages of tests the rest."""

CPUS = 2
"""CPUs of one machine (count): one to keep house, one that can be isolated."""

MOST = 16
"""Machines at most (count): their memory is what a large laptop has."""

DRIVES = 2
"""Empty drives beside the system's (count): an array has two at least."""

DRIVE_MIB = 512
"""Size of such a drive (MiB): XFS wants 300; what is empty takes no room."""

RAILS = 2
"""NICs of the compute fabric (count)."""

_NETWORKS = ("rail0", "rail1", "lan0")
_SLOTS = {"mgmt0": 0x10, "rail0": 0x11, "rail1": 0x12, "lan0": 0x13}
"""PCI slot of each NIC, by which the guest names it: lab/vm/guest, systemd/network."""


@dataclass(frozen=True)
class Machine:
    """One machine of a clone.

    Args:
        index: from 0 up.
        lab_id: eight hex digits of the clone.
        root: folder of all machines of the clone.
        image: the disk that all machines start from.
        port: of this machine (loopback), from which ssh reaches the guest's.
    """

    index: int
    lab_id: str
    root: Path
    image: Path
    port: int

    @property
    def name(self) -> str:
        """Name of the host, and of its folder."""
        return f"vm-{self.index}"

    @property
    def folder(self) -> Path:
        """Everything that is only this machine's."""
        return self.root / self.name

    @property
    def disk(self) -> Path:
        """What differs from the image; named for it, so that another image never lies under it."""
        return self.folder / f"{self.image.stem}.qcow2"

    @property
    def drives(self) -> list[Path]:
        """The empty drives."""
        return [self.folder / f"drive{number}.raw" for number in range(DRIVES)]

    @property
    def seed(self) -> Path:
        """What the guest takes over at its first boot."""
        return self.folder / "seed.tar"

    @property
    def console(self) -> Path:
        """What the guest's screen would show."""
        return self.folder / "console.log"

    def address(self, network: str) -> str:
        """Address with prefix length on ``rail0``, ``rail1`` or ``lan0``."""
        return f"10.{10 + _NETWORKS.index(network)}.0.{10 + self.index}/24"

    def pci(self, network: str) -> str:
        """PCI address of a NIC."""
        return f"0000:00:{_SLOTS[network]:02x}.0"

    def mac(self, network: str) -> str:
        """Address of a NIC: of the kind that anybody may give out, other in each clone."""
        clone = ":".join(self.lab_id[at : at + 2] for at in (0, 2))
        return f"52:54:{clone}:{_SLOTS[network]:02x}:{self.index:02x}"


def command(machine: Machine, accelerator: str) -> list[str]:
    """The command that runs a machine, in the foreground.

    Without ``-nodefaults`` a screen, a floppy and more would be there, which cost time at boot.
    """
    how = ["-accel", "kvm", "-cpu", "host"] if accelerator == "kvm" else ["-accel", "tcg,thread=multi", "-cpu", "max"]
    return [
        "qemu-system-x86_64", "-name", machine.name, "-machine", "pc", *how,
        "-smp", str(CPUS), "-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none",
        "-rtc", "base=utc", "-serial", f"file:{_escaped(machine.console)}",
        "-fw_cfg", f"name=opt/railwright/seed,file={_escaped(machine.seed)}",
        "-device", "virtio-rng-pci",
        *_drive("root", machine.disk, "qcow2"),
        *(word for number, path in enumerate(machine.drives) for word in _drive(f"models{number}", path, "raw")),
        *_nic(machine, "mgmt0", f"user,hostfwd=tcp:127.0.0.1:{machine.port}-:22"),
        *(word for network in _NETWORKS for word in _nic(machine, network, _shared(machine.lab_id, network))),
    ]  # fmt: skip


def _drive(name: str, path: Path, kind: str) -> list[str]:
    # Nothing is asked to survive a crash of this machine, so that nothing waits for its disk.
    options = f"file={_escaped(path)},id={name},if=none,format={kind},cache=unsafe,discard=unmap"
    return ["-drive", options, "-device", f"virtio-blk-pci,drive={name},serial={name}"]


def _nic(machine: Machine, name: str, backend: str) -> list[str]:
    device = f"virtio-net-pci,netdev={name},mac={machine.mac(name)},addr={_SLOTS[name]:#x}"
    return ["-netdev", f"{backend},id={name}", "-device", device]


def _shared(lab_id: str, network: str) -> str:
    """A wire between all machines of a clone: packets to a group of addresses that never leaves the loopback."""
    number = int(lab_id, 16)
    group = f"239.{number >> 24}.{number >> 16 & 255}.{1 + _NETWORKS.index(network)}"
    return f"socket,mcast={group}:{20_000 + number % 20_000},localaddr=127.0.0.1"


def _escaped(path: Path) -> str:
    """A path within an option of QEMU, where commas part."""
    return str(path).replace(",", ",,")
