"""What a PromQL expression names: metrics, the labels it selects or groups by, and functions over counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CLAUSE = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_MATCHERS = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"(?<![\w.:])[a-zA-Z_][\w:]*(?!\s*\()(?![\w:])")
_WORDS = frozenset(
    "and or unless bool offset atan2 inf nan start end by without on ignoring group_left group_right".split()
)
_DURATION = re.compile(r"\boffset\s+\S+")
_OVER_COUNTER = re.compile(r"\b(rate|irate|increase)\s*\(\s*([a-zA-Z_:][\w:]*)")
_QUANTILE = re.compile(r"\bhistogram_quantile\s*\(")


def metrics(expr: str) -> set[str]:
    """Names of all series that it reads."""
    bare = _DURATION.sub("", _RANGE.sub("", _MATCHERS.sub("", _CLAUSE.sub("", _STRING.sub('""', expr)))))
    return {found for found in _NAME.findall(bare) if found.lower() not in _WORDS}


def labels(expr: str) -> set[str]:
    """Labels that it selects, groups or matches by."""
    bare = _STRING.sub('""', expr)
    grouped = {name.strip() for clause in _CLAUSE.findall(bare) for name in clause.split(",")}
    selected = {
        part.split("=")[0].rstrip("!").strip() for found in _MATCHERS.findall(bare) for part in found.split(",")
    }
    return {name for name in grouped | selected if name}


def counted(expr: str) -> set[str]:
    """Names under ``rate``, ``irate`` or ``increase``, which hold for counters only."""
    return {name for _, name in _OVER_COUNTER.findall(_STRING.sub('""', expr))}


def needed(groups: Iterable[Mapping[str, Any]], alert: str) -> list[dict[str, Any]]:
    """Cut rule groups down to one alert and the recordings that it builds on."""
    kept = list(groups)
    recorded = {rule["record"]: rule["expr"] for group in kept for rule in group["rules"] if "record" in rule}
    wanted = {name for group in kept for rule in group["rules"] if rule.get("alert") == alert
              for name in metrics(rule["expr"])}  # fmt: skip
    open_names = wanted & set(recorded)
    closed: set[str] = set()
    while open_names:
        name = open_names.pop()
        closed.add(name)
        open_names |= (metrics(recorded[name]) & set(recorded)) - closed
    cut = [{**group, "rules": [rule for rule in group["rules"] if rule.get("alert") == alert or rule.get("record") in closed]}
           for group in kept]  # fmt: skip
    return [group for group in cut if group["rules"]]
