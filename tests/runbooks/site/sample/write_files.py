"""A small runbook whose writes are files, so that a test can see what was done and what was taken back."""

from __future__ import annotations

import select
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.engine.context import Context
from runbooks.engine.model import Inputs, Outcome, Runbook, Target, step

Fault = Literal["none", "fail", "stop", "unknown", "raise", "check", "hang", "hang_c", "until", "nothing", "slow"]


class WriteFiles(Runbook):
    """Write two files, one after the other.

    1. look at the folder
    2. write a file, then another
    """

    answers = ("FileMissing",)
    lock = "{stack}/folder/{scope}"
    risk = "a file more in the folder"
    deadline = timedelta(minutes=2)

    class Inputs(Inputs):
        """Where, and what goes wrong when."""

        folder: Path = Field(description="folder to write in")
        scope: str = "x"
        first: Fault = "none"
        second: Fault = "none"
        undo: Fault = "none"
        again: Fault = "none"
        lasts: timedelta = timedelta(0)

    def targets(self, ctx: Context) -> Iterable[Target]:
        if not ctx.inputs.folder.is_dir():
            raise ConfigError(f"folder {str(ctx.inputs.folder)!r} — is not there — make it")
        return [Target("folder", str(ctx.inputs.folder))]

    def refusals(self, ctx: Context) -> Iterator[str]:
        if (ctx.inputs.folder / "closed").exists():
            yield "folder is closed"

    @step("look at the folder", writes=False, recheck=True, timeout=timedelta(seconds=30))
    def look(self, ctx: Context) -> Outcome:
        before = ctx.facts.get("look", {}).get("names")
        names = sorted(path.name for path in ctx.inputs.folder.iterdir())
        if before is not None and ctx.inputs.again != "none":
            return trip(ctx, ctx.inputs.again)
        if before is None and ctx.inputs.first != "none":
            return trip(ctx, ctx.inputs.first)
        return Outcome.ok(f"{len(names)} files", names=before if before is not None else names)

    @step("write a", undo="remove_a", timeout=timedelta(seconds=30))
    def write_a(self, ctx: Context) -> Outcome:
        return write(ctx, "a")

    @step("write b", undo="remove_b", timeout=timedelta(seconds=30))
    def write_b(self, ctx: Context) -> Outcome:
        write(ctx, "b")
        ctx.sleep(ctx.inputs.lasts.total_seconds())
        return trip(ctx, ctx.inputs.second)

    @step("read both", writes=False)
    def read(self, ctx: Context) -> Outcome:
        return Outcome.ok("both are there")

    def remove_a(self, ctx: Context) -> Outcome:
        """Remove a."""
        return remove(ctx, "a")

    def remove_b(self, ctx: Context) -> Outcome:
        """Remove b."""
        if ctx.inputs.undo == "slow":
            trip(ctx, "slow")
        elif ctx.inputs.undo != "none":
            return trip(ctx, ctx.inputs.undo)
        return remove(ctx, "b")


def write(ctx: Context, name: str) -> Outcome:
    """Write a file that is not there yet."""
    path = ctx.inputs.folder / name
    if not ctx.may_write:
        ctx.would(f"write {path}")
        return Outcome.ok("would write")
    ours = f"{ctx.run_id}\n"
    if path.exists() and path.read_text() != ours:
        return Outcome.stop(f"{name} belongs to somebody else")
    ctx.record(path=path)
    path.write_text(ours)
    return Outcome.ok(f"wrote {name}")


def remove(ctx: Context, name: str) -> Outcome:
    """Remove a file that this run wrote."""
    with (ctx.inputs.folder.parent / "undo.log").open("a") as log:
        log.write(f"{name}\n")
    path = ctx.facts.get(f"write_{name}", {}).get("path")
    if path and Path(path).exists() and Path(path).read_text() == f"{ctx.run_id}\n":
        Path(path).unlink()
    return Outcome.ok(f"{name} is gone")


def trip(ctx: Context, fault: Fault) -> Outcome:
    """Go wrong in one of the ways a step can."""
    said = {"fail": Outcome.fail("did not work"), "stop": Outcome.stop("no need to go on")}
    raised = {
        "raise": KeyError("surprise"),
        "check": CheckError("written, read back, differs"),
        "nothing": Unknown("nobody answers"),
    }
    if fault in raised:
        raise raised[fault]
    if fault.startswith("hang"):
        hang(in_c=fault == "hang_c")
    if fault == "until":
        ctx.until(lambda: None, timeout=timedelta(minutes=5), what="never so")
    if fault == "slow":
        time.sleep(2)
    return Outcome.unknown("no data") if fault == "unknown" else said.get(fault, Outcome.ok("done"))


def hang(*, in_c: bool) -> None:
    """Never come back: in a loop that swallows everything it can, or in a call that blocks."""
    if in_c:
        select.select([], [], [], 600)
    while True:
        try:
            time.sleep(0.05)
        except Exception:  # noqa: S112  what is tested
            continue
