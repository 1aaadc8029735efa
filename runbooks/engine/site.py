"""What the engine is given by the program around it, and what the person at it has agreed to."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from runbooks.engine.context import Connect
from runbooks.engine.file_locks import FileLocks
from runbooks.engine.lock import Locks
from runbooks.engine.screen import Screen


def user() -> str:
    """Name of the user this process runs as."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@dataclass(frozen=True)
class Site:
    """Where runs happen."""

    runs: Path
    """Folder of run records."""
    connect: Connect = lambda context: None
    """Makes the clients of a context."""
    locks: Callable[[str], Locks] | None = None
    """Gives the locks of a stack; None: files beside the run records."""
    screen: Screen = field(default_factory=Screen)
    actor: str = field(default_factory=user)
    is_protected: Callable[[str], bool] = lambda stack: False
    """Whether to act on a stack takes its name typed, and a reason."""
    prompt: Callable[[str], str] | None = None
    """Asks a person at a terminal; None where there is none."""

    def locks_of(self, stack: str) -> Locks:
        """Give the locks of a stack."""
        return self.locks(stack) if self.locks else FileLocks(self.runs / "locks")


@dataclass(frozen=True, slots=True)
class Consent:
    """What was agreed to; by default nothing is written."""

    yes: bool = False
    reason: str = ""
    ticket: str = ""
    stack_again: str = ""
    """The stack's name once more, as protected stacks want it."""
    break_lock: bool = False
    """Take locks away from others, and go on where a dead run left something behind."""


LOOK_ONLY = Consent()
"""The default: nothing is written."""
