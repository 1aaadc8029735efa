"""Ask programs for their versions, and compare them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

Version = tuple[int, int, int]
"""Major, minor and patch."""

ANSWER_SECONDS = 20.0
"""How long a program may take to print its version (s); the largest takes 0.3 s on an idle machine."""

_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")


def parse(text: str) -> Version | None:
    """The first version in a text, or None when it holds none; a missing patch counts as 0."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def ask(program: Path, arguments: Sequence[str]) -> Version | None:
    """The version that a program prints, or None when it prints none or does not run."""
    try:
        answer = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(answer.stdout)


def serves(found: Version | None, pinned: Version) -> bool:
    """Whether a version may stand in for the pinned one: the same major version, and not older."""
    return found is not None and found[0] == pinned[0] and found >= pinned
