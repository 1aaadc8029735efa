"""What one setting of a host is: the value it must have, why, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class Means(StrEnum):
    """How a host is asked. Every reading is text, so that one round trip can bring them all."""

    FILES = "files"
    """Content of every file that a glob matches."""
    COMMAND = "command"
    """Standard output of a program; its exit status comes with it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One question to a host; settings that ask the same share one answer."""

    means: Means
    ask: tuple[str, ...]
    """A glob for files; argv for a command, without a shell."""
    optional: bool = False
    """Whether it is an answer that there is no such file, or no such program."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host said to one reading: text by file, or of a command under the empty name."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Path → content; empty when no file matched. Of a command: ``""`` → its standard output."""
    status: int = 0
    """Exit status of a command (127: there is no such program)."""
    error: str = ""
    """Why nothing can be known, for example a file that may not be read."""


Value = int | str | tuple[str, ...]
"""What a setting is: a number, a word, or words in order."""

Texts = Mapping[str, str]
"""What was said by place: path of a file, or command line."""

Parser = Callable[[Texts, str], Mapping[str, str]]
"""Makes what was found, by place, of the answers to all readings and of the setting's argument.

Raises:
    Unknown: the answers do not tell.
"""

Compare = Literal["equals", "at_least", "at_most", "since", "has", "lacks", "agree"]
"""How what was found is held against what is wanted; ``since``: versions as numbers in order; ``agree``: every source
on the host says the same."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which hosts a setting is for; an empty field allows every host."""

    boards: tuple[str, ...] = ()
    """Names of infra.catalog.boards."""
    fabrics: tuple[str, ...] = ()
    """``roce``, ``infiniband``."""
    machine: Literal["any", "metal", "virtual"] = "any"
    kubernetes: bool | None = None
    """True: only hosts of a cluster."""
    cpu: Literal["any", "x86", "arm"] = "any"


@dataclass(frozen=True, slots=True)
class Case:
    """The value for some hosts; of several cases that fit the last one counts."""

    scope: Scope
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a host, once."""

    id: str
    """Stable: ``<role>.<name>``, for example ``kernel_settings.numa_balancing``."""
    what: str
    """What it is, in one line."""
    why: str
    """What goes wrong without it."""
    value: Value | None
    """For every host that no case names; None: held only where a case or the inventory says a value."""
    readings: tuple[Reading, ...]
    """Asked in order; what the parser makes of all of them is held against the value."""
    parse: Parser
    """Makes found values of the answers, one of each place that says it."""
    source: str
    variable: str = ""
    """Public variable of the role that carries the value; empty where no role applies it."""
    fix: str = ""
    """What to do about it where no role applies it."""
    compare: Compare = "equals"
    also: tuple[str, ...] = ()
    """Words that are as good as the value."""
    choices: tuple[str | int, ...] = ()
    """All values that the variable may have; empty: any."""
    argument: str = ""
    """What the parser needs besides the answers, for example a word of the kernel command line."""
    per_rail: bool = False
    """Whether each rail is asked: readings and argument name its fields and variables of roles in braces."""
    unit: str = ""
    scope: Scope = Scope()
    cases: tuple[Case, ...] = ()
    reboot: bool = False
    """Whether a change needs a reboot to hold."""
    severity: Literal["page", "ticket", "note"] = "ticket"
    key: str = ""
    """Of a sysctl: its name."""
    since: str = "0.1.0"

    @property
    def role(self) -> str:
        """Ansible role that applies it, or would."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Variable:
    """A public variable of a role that no reading of the host shows as it is."""

    name: str
    what: str
    default: Any
    """As Ansible takes it; what is empty has to be said where the role needs it."""
    source: str
    unit: str = ""
    choices: tuple[str | int, ...] = ()
    elements: Literal["", "str", "int", "dict"] = ""
    """Type of the elements of a list."""
    secret: bool = False
    """Whether no log may show it."""


def files(pattern: str, *, optional: bool = False) -> Reading:
    """Ask for every file that a glob matches."""
    return Reading(Means.FILES, (pattern,), optional)


def command(*argv: str, optional: bool = False) -> Reading:
    """Ask for what a program prints."""
    return Reading(Means.COMMAND, argv, optional)
