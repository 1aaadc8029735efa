"""Find what fills a disk of a host, and free what can be had again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.errors import ConfigError
from runbooks.engine.model import Outcome, step
from runbooks.host import _images
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, measures, services, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.remedy import Remedy

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FULL = 0.85
"""Part of a disk in use from which it is called full. Source: the alert HostDiskFilling and kubelet's imagefs limit."""

LOOK_SECONDS = 90.0
"""How long large files are sought (s)."""

LARGE = "+256M"
"""Size from which a file is large, as find(1) writes it. Source: our choice."""

SHOWN = 3
"""Files that are named (count)."""

GIB = 2**30

IN_MEMORY = ("tmpfs", "devtmpfs", "overlay")
"""Kinds of file systems that are no disks."""

JOURNAL = ("journalctl", "--vacuum-size=1G")
"""Command that shortens the journal; the newest GiB tells days."""


class FreeDisk(OnHosts, DrainHost, Silence, Remedy):
    """Name what fills a disk, and free images that nothing uses and the plan does not name, and old journals.

    The host itself is asked over ssh; Prometheus only tells since when, and how long it will last.
    """

    answers = ("HostDiskFilling",)
    lock = "{stack}/host/{host}"
    risk = "an image that is freed has to be pulled again where it is wanted"

    class Inputs(SilenceInputs):
        """Which disk."""

        host: str = Field(description="host")
        mountpoint: str = Field(default="", description="where the disk is mounted; left out: all disks")
        do: Literal["nothing", "free_space", "drain_host", "silence"] = "nothing"

    def refusals(self, ctx: Context) -> Iterator[str]:
        """A simulated host has no disk."""
        yield from super().refusals(ctx)
        if meant(ctx)[0].simulated:
            yield f"host {given(ctx).host} — is simulated and has no disk — name a real one"

    @step("how full its disks are", writes=False)
    def fill(self, ctx: Context) -> Outcome:
        """Read them on the host itself; ask Prometheus since when."""
        host, wanted = given(ctx).host, given(ctx).mountpoint
        disks = _disks(ctx, host, wanted)
        found = []
        for mount, size, free in disks:
            used = 1 - free / size
            if used < FULL:
                continue
            names = {"host": host, "mount": mount}
            since = measures.since(
                ctx, 'host:disk_free:ratio{host="$host", mountpoint="$mount"} < $low', low=1 - FULL, **names
            )
            said = f"disk {mount} of {host} is {used:.0%} full, {free / GIB:.1f} GiB left{_lasts(ctx, host, mount)}"
            found.append(Finding("full", said, since, ("drain_host",), mount))
        rest = "; ".join(f"{mount} is {1 - free / size:.0%} full" for mount, size, free in disks[:SHOWN])
        return told(found, f"no disk of {host} is full: {rest}")

    @step("what fills them", writes=False, timeout=timedelta(minutes=3))
    def largest(self, ctx: Context) -> Outcome:
        """Seek the largest files, the newest of them told with their time."""
        host, mount = given(ctx).host, given(ctx).mountpoint or "/"
        gently = ["timeout", f"{LOOK_SECONDS:g}", "nice", "-n", "19"]
        shown = r"%b %TY-%Tm-%Td %TH:%TM %p\n"
        argv = [*gently, "find", mount, "-xdev", "-type", "f", "-size", LARGE, "-printf", shown]
        done = clients.of(ctx).hosts.ask(host, argv, timeout=LOOK_SECONDS + 15.0)
        files = sorted((_file(line) for line in done.stdout.splitlines()), reverse=True)
        told_files = "; ".join(f"{path} {size / GIB:.1f} GiB ({at})" for size, at, path in files[:SHOWN])
        cut = " (not all was looked at)" if done.rc == 124 else ""
        return Outcome.ok(f"largest files on {mount} of {host}: {told_files or 'none above 256 MiB'}{cut}")

    @step("which images nothing uses", writes=False)
    def images(self, ctx: Context) -> Outcome:
        """List images that no container uses and the plan does not name."""
        found = _images.unused(ctx, given(ctx).host)
        size = sum(image.size for image in found) / GIB
        said = f"{len(found)} images of {size:.1f} GiB are used by no container and are not in the plan"
        offers = ("free_space",) if found or not services.in_lab(ctx) else ()
        # Space that can be freed is no fault by itself: it is offered beside a disk that is full.
        return told([Finding("drift", said, None, offers, given(ctx).host)] if offers else [], said)

    @step("see that freeing helps", writes=False, only="free_space")
    def free_space_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if no disk is full, or nothing can be freed."""
        return self.fit(ctx, "free_space")

    # Nothing to undo: an image can be pulled again by its digest, and no program reads old journals.
    @step("free what can be had again", only="free_space", timeout=timedelta(minutes=10))
    def free_space(self, ctx: Context) -> Outcome:
        """Remove unused images; shorten the journal where there is one."""
        host = given(ctx).host
        found = _images.unused(ctx, host)
        ctx.record(images=[image.name for image in found])
        _images.remove(ctx, host, found)
        if not services.in_lab(ctx):
            clients.of(ctx).hosts.run(host, JOURNAL, timeout=300.0)
        left = "; ".join(f"{mount} {free / GIB:.1f} GiB" for mount, _, free in _disks(ctx, host, given(ctx).mountpoint))
        return Outcome.ok(f"{len(found)} images removed; left now: {left}")


def _disks(ctx: Context, host: str, wanted: str) -> Sequence[tuple[str, int, int]]:
    """Mount point, size and room for data of each disk (bytes).

    Raises:
        ConfigError: nothing is mounted there.
    """
    # What lives in memory cannot be freed here, unless it is asked for by name.
    chosen = [wanted] if wanted else [f"--exclude-type={kind}" for kind in IN_MEMORY]
    argv = ["df", "--block-size=1", "--output=target,size,avail", *chosen]
    done = clients.of(ctx).hosts.ask(host, argv)
    rows = [line.rsplit(None, 2) for line in done.stdout.splitlines()[1:]]
    found = [(mount, int(size), int(free)) for mount, size, free in rows if size.isdigit() and int(size) > 0]
    if not found:
        raise ConfigError(f"host {host} — no disk is mounted at {wanted or '/'}: {done.stderr.strip()} — see: df")
    return found


def _lasts(ctx: Context, host: str, mount: str) -> str:
    """When it will be full at the pace of the last hour; empty when it does not grow or is not measured."""
    expression = (
        'min(node_filesystem_avail_bytes{host="$host", mountpoint="$mount"}'
        ' / -deriv(node_filesystem_avail_bytes{host="$host", mountpoint="$mount"}[15m])) > 0'
    )
    seconds = measures.optional(ctx, expression, host=host, mount=mount)
    return f", none in {timedelta(seconds=round(seconds))}" if seconds is not None and seconds < 86_400 else ""


def _file(line: str) -> tuple[int, str, str]:
    blocks, day, at, path = line.split(" ", 3)
    return int(blocks) * 512, f"{day} {at}", path
