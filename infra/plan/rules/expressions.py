"""What a PromQL expression names: metrics, the labels it selects or groups by, and functions over counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r"#[^\n]*")
_CLAUSE = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_MATCHERS = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"(?<![\w.:])[a-zA-Z_][\w:]*(?!\s*\()(?![\w:])")
_WORDS = frozenset({
    *("and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"),
    *("by", "without", "on", "ignoring", "group_left", "group_right"),
})  # fmt: skip
_DURATION = re.compile(r"\boffset\s+\S+")
_OVER_COUNTER = re.compile(r"\b(rate|irate|increase)\s*\(\s*([a-zA-Z_:][\w:]*)")
_BUCKET = re.compile(r"([a-zA-Z_:][\w:]*_bucket)\{([^{}]*)\}")
_LE = re.compile(r'\ble\s*=~?\s*"([\d.e+]+)')
_QUANTILE = re.compile(r"\bhistogram_quantile\s*\([^,]+,[^>]*?([a-zA-Z_:][\w:]*_bucket)[^>]*>=?\s*([\d.e+]+)")


def _plain(expr: str) -> str:
    """Take the contents of strings away, then comments."""
    return _COMMENT.sub("", _STRING.sub('""', expr))


def metrics(expr: str) -> set[str]:
    """Names of all series that it reads."""
    bare = _DURATION.sub("", _RANGE.sub("", _MATCHERS.sub("", _CLAUSE.sub("", _plain(expr)))))
    return {found for found in _NAME.findall(bare) if found.lower() not in _WORDS}


def labels(expr: str) -> set[str]:
    """Labels that it selects, groups or matches by."""
    bare = _plain(expr)
    grouped = {name.strip() for clause in _CLAUSE.findall(bare) for name in clause.split(",")}
    selected = {re.split(r"[=!]", part)[0].strip() for found in _MATCHERS.findall(bare) for part in found.split(",")}
    return {name for name in grouped | selected if name}


def counted(expr: str) -> set[str]:
    """Names under ``rate``, ``irate`` or ``increase``, which hold for counters only."""
    return {name for _, name in _OVER_COUNTER.findall(_plain(expr))}


def edges(expr: str) -> Iterator[tuple[str, float]]:
    """Buckets that it selects by their upper bound, with the bound."""
    for name, matchers in _BUCKET.findall(expr):
        yield from ((name, float(edge)) for edge in _LE.findall(matchers))


def quantile_limits(expr: str) -> Iterator[tuple[str, float]]:
    """Histograms whose quantile it compares with a number, with the number."""
    yield from ((name, float(limit)) for name, limit in _QUANTILE.findall(expr))


def needed(groups: Iterable[Mapping[str, Any]], alert: str) -> list[dict[str, Any]]:
    """Cut rule groups down to one alert and the recordings that it builds on."""
    kept = list(groups)
    recorded = {rule["record"]: rule["expr"] for group in kept for rule in group["rules"] if "record" in rule}
    rules = [rule for group in kept for rule in group["rules"] if rule.get("alert") == alert]
    open_names = {name for rule in rules for name in metrics(rule["expr"])} & set(recorded)
    closed: set[str] = set()
    while open_names:
        name = open_names.pop()
        closed.add(name)
        open_names |= (metrics(recorded[name]) & set(recorded)) - closed
    cut = []
    for group in kept:
        mine = [rule for rule in group["rules"] if rule.get("alert") == alert or rule.get("record") in closed]
        cut += [{**group, "rules": mine}] if mine else []
    return cut
