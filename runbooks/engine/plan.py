"""What a run is going to do, told before it does it."""

from __future__ import annotations

import inspect
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from infra.errors import ConfigError
from infra.units import duration
from runbooks.engine.model import Inputs, Runbook, Step, Target
from runbooks.engine.result import Offer
from runbooks.engine.screen import Screen

NOTHING = "nothing"
"""Value of ``do`` with which a runbook only looks."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step as the plan shows it."""

    name: str
    title: str
    writes: bool
    undo: str
    """How it is taken back, in words; empty when nothing is left to take back."""
    only: str
    runs: bool
    """False: it is left out, as ``do`` says otherwise."""
    timeout: timedelta


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is going to do."""

    runbook: str
    title: str
    stack: str
    acts: bool
    targets: tuple[Target, ...]
    lock: str
    risk: str
    expect: timedelta
    deadline: timedelta
    steps: tuple[PlannedStep, ...]
    choices: tuple[str, ...]


def selected(runbook: type[Runbook], inputs: Inputs | None) -> tuple[Step, ...]:
    """Pick the steps that run with these inputs."""
    do = getattr(inputs, "do", NOTHING)
    return tuple(step for step in runbook.steps() if step.only in ("", do))


def scope(runbook: type[Runbook], stack: str, inputs: Inputs) -> str:
    """Fill in the scope that the run locks; a lock without the stack's name would meet those of other stacks."""
    values = {"stack": stack, **{name: getattr(inputs, name) for name in type(inputs).model_fields}}
    filled = runbook.lock.format_map(values)
    return filled if filled.split("/")[0] == stack else f"{stack}/{filled}"


def draw(runbook: type[Runbook], stack: str, inputs: Inputs | None, targets: Iterable[Target], *, acts: bool) -> Plan:
    """Draw up the plan; without inputs it is that of any run, as ``runbook show`` prints it."""
    runs = {step.name for step in selected(runbook, inputs)}
    steps = tuple(
        PlannedStep(
            step.name, step.title, step.writes, undo_in_words(runbook, step), step.only, step.name in runs, step.timeout
        )
        for step in runbook.steps()
    )
    return Plan(
        runbook=runbook.command(),
        title=runbook.title().rstrip("."),
        stack=stack,
        acts=acts,
        targets=tuple(targets),
        lock=scope(runbook, stack, inputs) if inputs is not None else runbook.lock,
        risk=runbook.risk,
        expect=runbook.expect,
        deadline=runbook.deadline,
        steps=steps,
        choices=runbook.choices(),
    )


def undo_in_words(runbook: type[Runbook], step: Step) -> str:
    """Say how a step is taken back: first line of its undo's docstring, else that method's name."""
    if not step.undo:
        return ""
    told = inspect.getdoc(getattr(runbook, step.undo, None)) or step.undo.replace("_", " ")
    return told.splitlines()[0].rstrip(".")


def offers(runbook: type[Runbook], allowed: Iterable[str], command: str) -> tuple[Offer, ...]:
    """Say what can be done about what was found.

    Args:
        command: how the run was called, without ``--do``.
    """
    return tuple(
        Offer(do, tuple(step.title for step in runbook.steps() if step.only == do), f"{command} --do {do} --yes")
        for do in allowed
    )


def mistakes(runbook: type[Runbook]) -> list[str]:
    """Say what is wrong with a runbook itself, so that it is found before a run and not in the middle of one."""
    name, steps, fields = runbook.command(), runbook.steps(), set(runbook.Inputs.model_fields)
    found = [] if steps else [f"{name} — has no step — one at least is needed — declare it with @step"]
    for step in steps:
        if step.undo and not callable(getattr(runbook, step.undo, None)):
            found.append(f"{name} — undo {step.undo!r} of step {step.name!r} is no method — name one")
        if step.undo and not step.writes:
            found.append(f"{name} — step {step.name!r} has an undo but writes nothing — drop one of the two")
        if step.recheck and step.writes:
            found.append(
                f"{name} — step {step.name!r} writes, so it cannot be asked again — check in a step that reads"
            )
        if step.only and step.only not in runbook.choices():
            found.append(f"{name} — step {step.name!r} is for do={step.only!r}, which is no value of the input do")
    for _, braces, _, _ in string.Formatter().parse(runbook.lock):
        if braces and braces not in fields | {"stack"}:
            found.append(f"{name} — lock {runbook.lock!r} names {braces!r}, which is no input — name one, or stack")
    return found


def check(runbook: type[Runbook]) -> None:
    """Refuse a runbook that is wrong in itself.

    Raises:
        ConfigError: all that is wrong with it.
    """
    if found := mistakes(runbook):
        raise ConfigError(*found)


def show(plan: Plan, screen: Screen) -> None:
    """Print the plan."""
    mode = "acts" if plan.acts else "dry run: nothing is written"
    screen.line("step", f"{plan.runbook}: {plan.title}")
    screen.line("note", f"  stack    {plan.stack} ({mode})" if plan.stack else "  stack    any, named with --stack")
    for target in plan.targets:
        screen.line("note", f"  target   {target}")
    if plan.risk:
        screen.line("note", f"  risk     {plan.risk}")
    screen.line("note", f"  lock     {plan.lock}")
    took, end = duration(plan.expect.total_seconds()), duration(plan.deadline.total_seconds())
    screen.line("note", f"  time     about {took}; after {end} it is stopped and undone")
    for number, step in enumerate((step for step in plan.steps if step.runs), start=1):
        screen.line("note", f"  {number:>2}. {step.title} ({_kind(step)})")
    for do in plan.choices:
        titles = [f"{step.title} ({_kind(step)})" for step in plan.steps if step.only == do and not step.runs]
        if titles:
            screen.line("note", f"  with --do {do}: {'; '.join(titles)}")


def _kind(step: PlannedStep) -> str:
    if not step.writes:
        return "reads"
    return f"writes; undo: {step.undo}" if step.undo else "writes; nothing to undo"
