"""The disk that all virtual machines start from: Debian with a boot loader, made once per recipe."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

from filelock import FileLock

from lab import paths
from lab.commands import run_logged
from lab.steps import Report
from lab.vm import boot_sector

SUITE = "bookworm"
"""Debian 12: kernel 6.1 has RDMA over any NIC (rdma_rxe)."""

PACKAGES = (
    "systemd-sysv", "udev", "dbus", "kmod", "procps", "iproute2", "iputils-ping", "ethtool", "openssh-server",
    "linux-image-amd64", "initramfs-tools", "zstd", "grub2-common", "grub-pc-bin", "e2fsprogs",
    "python3", "apt", "python3-apt",
)  # fmt: skip
"""Beside Debian's essential packages: what boots, what ssh and Ansible need, and the usual programs to look around."""

OFFERED = (
    "pciutils", "linux-cpupower", "irqbalance", "chrony", "mdadm", "xfsprogs", "nvme-cli", "auditd", "containerd",
    "rdma-core", "ibverbs-utils", "perftest", "infiniband-diags", "prometheus-node-exporter", "nfs-common",
)  # fmt: skip
"""What roles may install: there to be installed, from the machine's own disk, without a network."""

LEFT_OUT = ("/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
"""Text that nobody reads there."""

DISK_MIB = 4096
"""Size of the disk (MiB); what is empty takes no room."""

DISK_UUID = "6c616200-0000-4000-8000-000000000001"
"""UUID of the file system: fixed, so that two images of one recipe are alike."""

_HERE = Path(__file__).parent
_HOOK = _HERE / "customize.sh"


def guest_tar() -> bytes:
    """Files of ours in the image, from the folder ``guest``, as root's."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for path in sorted((_HERE / "guest").rglob("*")):
            if path.is_file():
                entry = tarfile.TarInfo(str(path.relative_to(_HERE / "guest")))
                entry.size, entry.mode = path.stat().st_size, 0o644
                tar.addfile(entry, io.BytesIO(path.read_bytes()))
    return data.getvalue()


def recipe(guest: str) -> list[str]:
    """The mmdebstrap command without its target.

    Args:
        guest: path of the tar with files of ours.
    """
    return [
        "mmdebstrap",
        "--variant=essential",
        "--format=directory",
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        # Before the kernel comes, whose initramfs is made as they say.
        f"--essential-hook=tar-in {guest} /",
        f"--customize-hook={_HOOK}",
        # The index of the machine's own packages, made by the hook.
        "--skip=cleanup/apt",
        SUITE,
    ]


def key() -> str:
    """Hash of all that the image is made of; an image of another key is another file."""
    words = (*recipe("guest.tar"), *OFFERED, str(DISK_MIB), DISK_UUID)
    said = [word.replace(str(_HOOK), _HOOK.name).encode() for word in words]
    return hashlib.sha256(b"\n".join([*said, guest_tar(), _HOOK.read_bytes()])).hexdigest()[:12]


def file() -> Path:
    """Where the image of this recipe lies, made or not."""
    return paths.cache_dir() / "vm" / f"{SUITE}-{key()}.raw"


def ensure(report: Report) -> Path:
    """Make the image unless it is there; a cut-off run leaves nothing that a later one takes for whole.

    Raises:
        CheckError: mmdebstrap or mke2fs failed.
    """
    target = file()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):
        if not target.exists():
            partial = target.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _make(partial, report).replace(target)
            shutil.rmtree(partial)
    return target


def _make(folder: Path, report: Report) -> Path:
    """Make the disk in an empty folder, which may hold anything afterwards."""
    logs = paths.state_dir() / "log" / "vm"
    guest, root, disk = folder / "guest.tar", folder / "root", folder / "disk.raw"
    guest.write_bytes(guest_tar())
    report("makes a Debian folder")
    # Namespace of its own: mounts that mmdebstrap makes inside the folder end with it, whatever happens.
    private = ["unshare", "--mount", "--propagation", "private"]
    env = {**os.environ, "OFFERED": " ".join(OFFERED)}
    run_logged([*private, *recipe(str(guest)), str(root)], logs / "rootfs.log", report, env=env)
    report("makes a disk of it")
    offset = boot_sector.FIRST_SECTOR * boot_sector.SECTOR
    options = f"offset={offset},lazy_itable_init=1,lazy_journal_init=1"
    size = f"{DISK_MIB * 1024 - offset // 1024}k"
    mke2fs = ["mke2fs", "-q", "-t", "ext4", "-U", DISK_UUID, "-E", options, "-d", str(root), str(disk), size]
    run_logged(mke2fs, logs / "disk.log", report, env={**os.environ, "PATH": f"{paths.search_path()}:/usr/sbin:/sbin"})
    os.truncate(disk, DISK_MIB * 1024 * 1024)
    grub = root / "boot" / "grub"
    boot_sector.write(disk, (grub / "i386-pc" / "boot.img").read_bytes(), (grub / "core.img").read_bytes())
    return disk
