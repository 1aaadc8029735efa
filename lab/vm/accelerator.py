"""How fast machines can run here: by the processor itself (KVM), or by QEMU in its place (TCG)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PROBE_SECONDS = 5.0
"""How long the firmware of an empty machine may take (s): half a second where KVM works, and a quarter of a minute on a
guest that emulates each instruction, which is slower than TCG and looks like KVM otherwise."""

DEVICE = Path("/dev/kvm")
"""Where the kernel offers KVM."""


def choose() -> str:
    """``kvm`` where it is there, may be used, and works; else ``tcg``."""
    return "kvm" if os.access(DEVICE, os.R_OK | os.W_OK) and works("kvm", "host") else "tcg"


def works(accelerator: str, cpu: str) -> bool:
    """Whether an empty machine comes to the end of its firmware in time: it finds no disk, and reboots, which ends it.

    Source: SeaBIOS, src/boot.c, boot_fail; QEMU, -boot reboot-timeout (ms).
    """
    argv = ["qemu-system-x86_64", "-accel", accelerator, "-cpu", cpu, "-m", "64", "-nodefaults", "-no-user-config"]
    argv += ["-display", "none", "-no-reboot", "-boot", "reboot-timeout=1"]
    try:
        return subprocess.run(argv, capture_output=True, check=False, timeout=PROBE_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
