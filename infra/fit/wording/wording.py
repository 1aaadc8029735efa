"""One line that an engine writes when it starts, and the figures in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from infra.units import GIB, MIB

UNITS = {"gib": GIB, "mib": MIB, "bytes": 1, "s": 1, "ms": 0.001}
"""Endings of group names, and what one of each is in bytes or seconds; without ending a figure is a count or share."""

_MOST = 1e18
"""Beyond any figure of one GPU in bytes, seconds or tokens: a line that says so is damaged."""

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
"""A number as logs print it, such as ``1,823,372`` or ``-2.14``."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A line as one or more versions of an engine word it."""

    mark: str
    """Text that every such line has; looking for it first keeps long logs cheap."""
    pattern: re.Pattern[str]
    """Its named groups are figures; endings such as ``_gib`` are their units."""
    source: str
    adds: frozenset[str] = frozenset()
    """Figures to which further lines of one rank add; the others they replace."""
    failure: str = ""
    """What such a line says went wrong; empty: nothing."""

    def figures(self, line: str) -> dict[str, float] | None:
        """Figures of a line in bytes, seconds and counts; None when the line is another one."""
        if self.mark not in line:
            return None
        found = self.pattern.search(line)
        if found is None:
            return None
        figures = dict(_figure(name, text) for name, text in found.groupdict().items() if text is not None)
        return {name: value for name, value in figures.items() if abs(value) < _MOST}


def wording(mark: str, pattern: str, source: str, *, adds: str = "", failure: str = "") -> Wording:
    """Write a wording down; ``<weights_gib>`` in the pattern stands for a number with that name."""
    numbers = re.sub(r"<(\w+)>", lambda name: f"(?P<{name[1]}>{NUMBER})", pattern)
    return Wording(mark, re.compile(numbers), source, frozenset(adds.split()), failure)


def _figure(name: str, text: str) -> tuple[str, float]:
    stem, _, unit = name.rpartition("_")
    value = float(text.replace(",", ""))
    return (stem, value * UNITS[unit]) if unit in UNITS and stem else (name, value)
