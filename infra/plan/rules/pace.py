"""Windows and waits at the pace of a stack, and the filling in of figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

LEAST_SCRAPES = 4
"""Scrapes that a window holds at least: two may be missed and ``rate`` still has two samples."""

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_TOKEN = re.compile(r"<(?:(?P<window>\d+[smhd])|(?P<name>[a-z_]+))(?P<seconds>:s)?>")


def seconds(text: str) -> int:
    """Read a duration such as ``5m``."""
    return int(text[:-1]) * _UNITS[text[-1]]


def duration(total: int) -> str:
    """Print seconds as Prometheus does, such as ``7m12s``."""
    parts = []
    for unit, size in _UNITS.items():
        count, total = divmod(total, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a stack's rules run."""

    factor: float
    """1 in production; 0.1 lets a drill see in half a minute what else takes five."""
    scrape_interval: int
    """Seconds between two scrapes."""

    def window(self, text: str) -> int:
        """Seconds of a window that is ``text`` long at pace 1, never too short for ``rate``."""
        return max(ceil(seconds(text) * self.factor), LEAST_SCRAPES * self.scrape_interval)

    def hold(self, text: str) -> str:
        """How long an alert waits before it fires."""
        return duration(ceil(seconds(text) * self.factor))

    def fill(self, text: str, figures: Mapping[str, float | int | str]) -> str:
        """Put windows and figures where an expression or a text names them.

        Raises:
            KeyError: it names a figure that there is not; a mistake of the catalogue.
        """

        def value(found: re.Match[str]) -> str:
            if window := found["window"]:
                length = self.window(window)
                return str(length) if found["seconds"] else duration(length)
            figure = figures[found["name"]]
            return figure if isinstance(figure, str) else f"{figure:.10g}"

        return _TOKEN.sub(value, text)
