"""The sample with little time."""

from __future__ import annotations

from datetime import timedelta

from runbooks.sample.write_files import WriteFiles, trip, write

from runbooks.engine.context import Context
from runbooks.engine.model import Outcome, step


class RunLate(WriteFiles):
    """Write two files with a second for the second, and three for all."""

    answers = ()
    deadline = timedelta(seconds=3)

    @step("look at the folder", writes=False, recheck=True, timeout=timedelta(seconds=1))
    def look(self, ctx: Context) -> Outcome:
        return super().look(ctx)

    @step("write a", undo="remove_a")
    def write_a(self, ctx: Context) -> Outcome:
        return write(ctx, "a")

    @step("write b", undo="remove_b", timeout=timedelta(seconds=1))
    def write_b(self, ctx: Context) -> Outcome:
        write(ctx, "b")
        return trip(ctx, ctx.inputs.second)

    @step("wait", writes=False)
    def wait(self, ctx: Context) -> Outcome:
        ctx.sleep(ctx.inputs.lasts.total_seconds())
        return Outcome.ok("waited")
