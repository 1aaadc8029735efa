"""Fill a file system of a host: a small one of its own, never the host's disk."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import CheckError
from runbooks.drills._hosts import real_host
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FOLDER = "/var/lib/railwright-drill"
"""Where it is mounted; in sight of the host's exporter."""

SIZE_MIB = 32
FILLED_MIB = 31

ON = (
    'mkdir -p "$1" && mount -t tmpfs -o "size=$2m,mode=700" railwright-drill "$1" && head -c "$3m" /dev/zero >"$1/fill"'
)
OFF = 'umount "$1" 2>/dev/null; test ! -d "$1" || rmdir "$1"'


class FillDisk(Drill):
    """Fill a file system of a host: a small one of its own, never the host's disk.

    What alerts and runbooks do is the same for each mount point; a drill must not make kubelet evict pods.
    """

    expects: ClassVar[Expects | None] = Expects(
        "HostDiskFilling",
        timedelta(seconds=120),
        "host/free_disk",
        f"disk {FOLDER} of .* full",
        labels={"mountpoint": FOLDER},
    )

    class Inputs(EngineInputs):
        """Where."""

        host: str = ""
        """Host; the last real one by name if left out."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The host."""
        yield Target("host", real_host(ctx))

    def fault(self, ctx: Context) -> str:
        """What is filled."""
        return f"{FOLDER} on {ctx.targets[0]}, {SIZE_MIB} MiB of its own, is filled"

    def inject(self, ctx: Context) -> Outcome:
        """Mount it and fill it."""
        host = ctx.targets[0].name
        ctx.record(host=host)
        argv = ["sh", "-c", ON, "fill", FOLDER, str(SIZE_MIB), str(FILLED_MIB)]
        done = clients.of(ctx).hosts.run(host, argv)
        if not done.is_ok:
            raise CheckError(f"host {host} — {FOLDER} cannot be mounted and filled: {done.stderr.strip()}")
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Unmount it."""
        if told := ctx.facts.get("break_it", {}):
            done = clients.of(ctx).hosts.run(told["host"], ["sh", "-c", OFF, "free", FOLDER])
            if not done.is_ok:
                raise CheckError(f"host {told['host']} — {FOLDER} is still there: {done.stderr.strip()}")
        return Outcome.ok(f"{FOLDER} is gone")
