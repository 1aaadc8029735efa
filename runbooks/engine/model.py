"""What a runbook is: typed inputs, resolved targets, steps with their undo, and the outcome of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class Inputs(BaseModel):
    """What a runbook must be told; each field is an option of its command."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Verdict(StrEnum):
    """How a step ended."""

    OK = "ok"
    STOP = "stop"
    """A reason not to go on, found before anything was written."""
    FAIL = "fail"
    UNKNOWN = "unknown"
    """Cannot be told: no data, no answer; never a pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step found or did, in one sentence, with the facts behind it."""

    verdict: Verdict
    said: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Plain data for the report and for later steps; goes into the journal."""

    @classmethod
    def ok(cls, said: str, **facts: Any) -> Outcome:
        """Go on."""
        return cls(Verdict.OK, said, facts)

    @classmethod
    def stop(cls, said: str, **facts: Any) -> Outcome:
        """Do not go on; after a write this counts as a failure and is undone."""
        return cls(Verdict.STOP, said, facts)

    @classmethod
    def fail(cls, said: str, **facts: Any) -> Outcome:
        """What was tried did not work."""
        return cls(Verdict.FAIL, said, facts)

    @classmethod
    def unknown(cls, said: str, **facts: Any) -> Outcome:
        """It cannot be told."""
        return cls(Verdict.UNKNOWN, said, facts)


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One thing a run acts on, by name; selectors are resolved before the plan is shown."""

    kind: str
    """``host``, ``pod``, ``deployment``, ``model``, ``part``."""
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


StepFunction = Callable[[Any, "Context"], Outcome]
"""A method of a runbook that is one of its steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step as its decorator declares it."""

    name: str
    """Name of the method; stable, as journals refer to it."""
    title: str
    writes: bool
    undo: str
    """Name of the method that takes it back; empty when nothing is left to take back."""
    only: str
    """Runs only if the input ``do`` has this value; empty: always."""
    recheck: bool
    """Asked again at the end of the run, after undo too."""
    timeout: timedelta


def step(
    title: str,
    *,
    writes: bool = True,
    undo: str = "",
    only: str = "",
    recheck: bool = False,
    timeout: timedelta = timedelta(minutes=2),
) -> Callable[[StepFunction], StepFunction]:
    """Declare a method to be a step.

    A step without ``writes`` cannot write: its clients refuse. ``undo`` names a method that takes a ``Context`` too,
    finds in ``ctx.facts[<step>]`` what was recorded, and may run twice.
    """

    def declare(function: StepFunction) -> StepFunction:
        declared = Step(function.__name__, title, writes, undo, only, recheck, timeout)
        setattr(function, _MARK, declared)
        return function

    return declare


_MARK = "__railwright_step__"


class Runbook:
    """One procedure; subclasses declare steps, run in the order in which the class that declares them has them."""

    answers: ClassVar[tuple[str, ...]] = ()
    """Alerts whose ``runbook_url`` leads here."""
    owner: ClassVar[str] = "platform"
    lock: ClassVar[str] = "{stack}"
    """Scope that no one else may work in, such as ``{stack}/model/{model}``; the braces are inputs."""
    risk: ClassVar[str] = ""
    """What may get worse meanwhile; shown with the plan."""
    expect: ClassVar[timedelta] = timedelta(minutes=5)
    """How long it takes."""
    deadline: ClassVar[timedelta] = timedelta(minutes=30)
    """After it the run is undone."""

    class Inputs(Inputs):
        """Nothing to tell."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """Resolve the selectors of the inputs to names.

        Raises:
            ConfigError: a selector matches nothing, or more than is allowed.
        """
        return ()

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Reasons not to begin, all of them; nothing has been touched."""
        yield from ()

    def offers(self, ctx: Context) -> Iterable[str]:
        """Which values of ``do`` what was found allows; asked after a run that did nothing."""
        return type(self).choices()

    @classmethod
    def choices(cls) -> tuple[str, ...]:
        """What it can do: the values of its input ``do`` but ``nothing``."""
        declared = cls.Inputs.model_fields.get("do")
        return tuple(value for value in get_args(declared.annotation) if value != "nothing") if declared else ()

    @classmethod
    def title(cls) -> str:
        """First line of the docstring."""
        return (cls.__doc__ or cls.__name__).strip().splitlines()[0]

    @classmethod
    def command(cls) -> str:
        """How it is called: the path of its module, such as ``serving/recover_engine``."""
        return "/".join(cls.__module__.split(".")[1:])

    @classmethod
    def steps(cls) -> tuple[Step, ...]:
        """Its steps: those of the class itself first, then those of its bases; reads that a class overrides once."""
        found: dict[str, Step] = {}
        for owner in cls.__mro__:
            for name, value in vars(owner).items():
                declared = getattr(value, _MARK, None)
                if declared is not None:
                    found.setdefault(name, declared)
        return tuple(found.values())
