"""A sample that diagnoses, and offers what can be done."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from runbooks.engine.context import Context
from runbooks.engine.model import Inputs, Outcome, Runbook, step


class ChooseCure(Runbook):
    """Look whether the file is there, and offer to write or to forget it."""

    answers = ("FileMissing", "FileOld")

    class Inputs(Inputs):
        """Which file, and what to do about it."""

        file: Path
        do: Literal["nothing", "restart", "forget"] = "nothing"

    def offers(self, ctx: Context) -> Iterable[str]:
        return () if ctx.facts["look"]["there"] else ("restart",)

    @step("look for the file", writes=False)
    def look(self, ctx: Context) -> Outcome:
        there = ctx.inputs.file.exists()
        return Outcome.ok("there" if there else "missing", there=there)

    @step("write the file", only="restart")
    def write(self, ctx: Context) -> Outcome:
        if ctx.may_write:
            ctx.inputs.file.write_text("x")
        else:
            ctx.would(f"write {ctx.inputs.file}")
        return Outcome.ok("written")

    @step("forget the file", only="forget")
    def forget(self, ctx: Context) -> Outcome:
        return Outcome.ok("forgotten")
