"""A sandbox whose kernel is files: sysctls, swap, modules and command line.

They say what a test wrote, and keep what a role writes. A reboot reads the files of /etc anew, as systemd does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.ansible.fakes.sandbox import STATE, Sandbox

PROGRAMS = Path(__file__).parent / "programs"
"""Stand-ins that only these roles need."""

NAMES = {
    "auditctl": ("auditctl", "augenrules"),
    "drives": ("lsblk", "mdadm", "mkfs.xfs", "findmnt", "blockdev", "mount"),
    "sshd": ("sshd", "../../sbin/sshd"),
}
"""Stand-ins that answer to several names."""

SYSCTLS = {
    "fs.file-max": "9223372036854775807",
    "fs.inotify.max_user_instances": "128", "fs.inotify.max_user_watches": "65536",
    "fs.protected_hardlinks": "1", "fs.protected_symlinks": "1", "fs.suid_dumpable": "2", "kernel.dmesg_restrict": "0",
    "kernel.kptr_restrict": "0", "kernel.numa_balancing": "1", "kernel.panic": "0", "kernel.panic_on_oops": "0",
    "kernel.randomize_va_space": "2", "kernel.unprivileged_bpf_disabled": "2", "kernel.yama.ptrace_scope": "0",
    "net.core.somaxconn": "4096",
    "net.ipv4.conf.all.accept_redirects": "0", "net.ipv4.conf.all.accept_source_route": "1",
    "net.ipv4.conf.all.rp_filter": "1", "net.ipv4.conf.all.send_redirects": "1", "net.ipv4.ip_forward": "0",
    "net.ipv4.neigh.default.gc_thresh1": "128", "net.ipv4.neigh.default.gc_thresh2": "512",
    "net.ipv4.neigh.default.gc_thresh3": "1024", "net.ipv4.tcp_syncookies": "1", "vm.max_map_count": "65530",
    "vm.min_free_kbytes": "67584", "vm.nr_hugepages": "0",
    "vm.overcommit_memory": "0", "vm.swappiness": "60", "vm.zone_reclaim_mode": "0",
}  # fmt: skip
"""A kernel as Debian 12 starts it, with a few faults."""

FOLDERS = (
    f"{STATE}/run",
    "etc/udev/rules.d",
    "etc/modprobe.d",
    "etc/chrony",
    "etc/ssh/sshd_config.d",
    "etc/audit/rules.d",
)
"""Places that packages of a real host bring."""

MOUNTS = """
for file in sys swaps cmdline; do mount --bind "$root/var/lib/fakes/proc/$file" "$root/proc/$file"; done
mount --bind "$root/var/lib/fakes/run" "$root/run"
"""
"""Runs while the machine is made: what /proc and /run show from then on."""

GRUB = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n'
"""As Debian's installer leaves it."""


class Machine(Sandbox):
    """One machine whose kernel's settings are files."""

    def __init__(self, folder: Path, sysctls: Mapping[str, str] = SYSCTLS) -> None:
        super().__init__(folder, MOUNTS)
        self.write("usr/local/bin/systemctl.units", self.read("usr/local/bin/systemctl"), mode=0o755)
        for program in PROGRAMS.iterdir():
            for name in NAMES.get(program.name, (program.name,)):
                self.write(f"usr/local/bin/{name}", program.read_text(encoding="utf-8"), mode=0o755)
        for key, value in sysctls.items():
            self.sysctl(key, value)
        for place in FOLDERS:
            self.path(place).mkdir(parents=True, exist_ok=True)
        self.write(f"{STATE}/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
        self.write(f"{STATE}/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet\n")
        self.write("etc/default/grub", GRUB)
        self.write("boot/grub/grub.cfg", "menuentry Debian {\n\tlinux /vmlinuz root=/dev/vda1 ro quiet\n}\n")

    def sysctl(self, key: str, value: str) -> None:
        """Set a live value."""
        self.write(f"{STATE}/proc/sys/{key.replace('.', '/')}", f"{value}\n")

    def live(self, key: str) -> str:
        """Read a live value."""
        return self.read(f"{STATE}/proc/sys/{key.replace('.', '/')}").strip()

    def fill(self, folder: str) -> None:
        """Leave no room in a folder; what was in it is not seen meanwhile."""
        self.path(folder).mkdir(parents=True, exist_ok=True)
        full = f'mount -t tmpfs -o size=4k tmpfs "$root/{folder}" && head -c 4096 /dev/zero > "$root/{folder}/full"\n'
        self.write(f"{STATE}/network", MOUNTS + full)

    def free(self) -> None:
        """Make room again."""
        self.write(f"{STATE}/network", MOUNTS)

    def due(self, what: str, role: str) -> str:
        """Why a role waits for a drain or a reboot; empty when it does not, and after a reboot."""
        return self.read(f"{STATE}/run/railwright/{what}-due/{role}").strip()

    def reboot(self, sysctls: Mapping[str, str] = SYSCTLS) -> None:
        """Start again: sysctls are the kernel's own, then those of sysctl.d; the command line is the menu's."""
        for key, value in sysctls.items():
            self.sysctl(key, value)
        told = self.run(["systemd-analyze", "cat-config", "sysctl.d"]).stdout
        for key, value in re.findall(r"(?m)^([a-z][\w./-]*) *= *(.*)$", told):
            self.sysctl(key, value)
        entry = re.search(r"linux \S+ (.*)", self.read("boot/grub/grub.cfg"))
        assert entry is not None
        self.write(f"{STATE}/proc/cmdline", f"BOOT_IMAGE=/vmlinuz {entry[1]}\n")
        for path in sorted(self.path(f"{STATE}/run").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
