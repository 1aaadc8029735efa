"""What one setting of a host is: the value it must have, why, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


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

Parser = Callable[[Sequence[Answer], str], tuple[str, ...]]
"""Makes what was found of the answers to all readings and of the setting's argument.

Raises:
    Unknown: the answers do not tell.
"""

Compare = Literal["equals", "at_least", "at_most", "one_of", "has", "lacks", "agree"]
"""How what was found is held against what is wanted; ``agree``: every source on the host says the same."""


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


@dataclass(frozen=True, slots=True)
class Case:
    """The value for some hosts; of several cases that fit the last one counts."""

    scope: Scope
    value: Value


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a host, once."""

    id: str
    """Stable: ``<role>.<name>``, for example ``kernel_settings.numa_balancing``."""
    role: str
    """Ansible role that applies it."""
    variable: str
    """Public variable of the role that carries the value; empty where the value is not to be chosen."""
    what: str
    """What it is, in one line."""
    why: str
    """What goes wrong without it."""
    value: Value
    """For every host that no case names."""
    compare: Compare
    readings: tuple[Reading, ...]
    """Asked in order; what the parser makes of all of them is held against the value."""
    parse: Parser
    """Makes found values of the answers, one of each place that says it."""
    source: str
    unit: str = ""
    scope: Scope = Scope()
    cases: tuple[Case, ...] = ()
    reboot: bool = False
    """Whether a change needs a reboot to hold."""
    severity: Literal["page", "ticket", "note"] = "ticket"
    key: str = ""
    """Name that the host itself has for it, for example a sysctl key."""
    argument: str = ""
    """What the parser needs besides the answers, for example a word of the kernel command line."""
    since: str = "0.1.0"
