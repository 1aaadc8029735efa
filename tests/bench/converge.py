"""How long tuning takes of a machine that is tuned already: what a round over hosts costs when none has drifted."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.bench.watch import Timing

HOST = "vm-0"
"""One machine of ``lab vm up``."""


def tuned() -> Timing:
    """Play ``tune`` on a machine that is as it should be: one of its own, which goes again."""
    # Bench machines that time something else need neither Ansible nor QEMU.
    from tests.hosts_vm.site import Plays, lab

    if lab("status").stdout.startswith("MACHINE"):
        raise SystemExit("machines are up, and would be changed — `lab vm down` first")
    try:
        if (up := lab("up", "1")).returncode:
            raise SystemExit(up.stdout + up.stderr)
        with tempfile.TemporaryDirectory() as folder:
            plays = Plays(Path(folder, "plays"))
            first = plays.play("tune", f"--limit={HOST}", tune_reboot="now")
            start = time.monotonic()
            again = plays.play("tune", f"--limit={HOST}")
            seconds = time.monotonic() - start
    finally:
        lab("down")
    if first.status or again.status or again.changed:
        raise SystemExit(f"{HOST} does not converge: {first.failure or again.failure or again.changed}")
    return seconds, f"of one host, {len(again.events)} tasks; {len(first.changed)} changes before"
