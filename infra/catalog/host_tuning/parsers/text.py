"""Texts of any origin: words, lines, patterns."""

from __future__ import annotations

import re
from collections import Counter

from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown

UNSET = "unset"
"""What is found where a file could say something and does not."""


def words(texts: Texts, argument: str) -> dict[str, str]:
    """Each file's words, as several values of one sysctl are separated by tabs."""
    return {place: " ".join(text.split()) for place, text in texts.items()}


def number(texts: Texts, argument: str) -> dict[str, str]:
    """Like ``words``, and 0 where the kernel has no such thing."""
    return words(texts, argument) or {"": "0"}


def bracketed(texts: Texts, argument: str) -> dict[str, str]:
    """The chosen one of several, as in ``always [madvise] never``."""
    found = {place: re.search(r"\[([^\]]+)\]", text) for place, text in texts.items()}
    if not all(found.values()):
        raise Unknown("no choice is in brackets")
    return {place: match[1] for place, match in found.items() if match}


def lines(texts: Texts, argument: str) -> dict[str, str]:
    """Each line that is not empty and that the argument, a pattern, matches from its start."""
    every = (line.strip() for text in texts.values() for line in text.splitlines())
    return {line: line for line in every if line and re.match(argument, line)}


def is_there(texts: Texts, argument: str) -> dict[str, str]:
    """``yes`` at each place that says something, else ``no``."""
    return dict.fromkeys(texts, "yes") or {"": "no"}


def count(texts: Texts, argument: str) -> dict[str, str]:
    """How often a pattern matches in all texts together."""
    return {"": str(sum(len(re.findall(argument, text, re.MULTILINE)) for text in texts.values()))}


def faults(texts: Texts, argument: str) -> dict[str, str]:
    """Like ``count``, of a listing that always has rows: one without any tells nothing."""
    if not "".join(texts.values()).strip():
        raise Unknown("nothing is listed")
    return count(texts, argument)


def pattern(texts: Texts, argument: str) -> dict[str, str]:
    """What the group ``value`` of a pattern matches, at the place that its group ``place`` matches, or in the text."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for place, text in texts.items():
        for match in re.finditer(argument, text, re.MULTILINE):
            where = match.groupdict().get("place") or place
            seen[where] += 1
            found[where if seen[where] == 1 else f"{where} #{seen[where]}"] = match["value"]
    return found


def said(texts: Texts, argument: str) -> dict[str, str]:
    """Like ``pattern``, where saying nothing is known too."""
    return pattern(texts, argument) or {"": UNSET}


def last(texts: Texts, argument: str) -> dict[str, str]:
    """The last that a pattern matches, as of files in which later lines win."""
    return dict(list(said(texts, argument).items())[-1:])
