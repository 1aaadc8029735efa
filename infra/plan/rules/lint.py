"""Faults of rule files that ``promtool check rules`` lets pass, and that keep an alert from ever firing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from infra.catalog.metrics import SERIES
from infra.plan.rules.expressions import counted, edges, metrics, quantile_limits

_PROMISE = re.compile(r"burn|slo(?![a-z])", re.IGNORECASE)
"""Names of alerts that say they are about a budget."""

_FACTOR = re.compile(r"\d[\d.]*\s*\*\s*(?:\(\s*1\s*-|plan:error_budget|0\.\d+)")
"""A factor times a budget: ``14.4 * (1 - 0.999)`` or ``14.4 * plan:error_budget:ratio``."""


def lint(groups: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one sentence for each fault in rule groups, ours or anybody's."""
    rules = [rule for group in groups for rule in group["rules"]]
    recorded = frozenset(rule["record"] for rule in rules if "record" in rule)
    for rule in rules:
        name, expr = rule.get("alert") or rule["record"], str(rule["expr"])
        faults = [*_names(expr, recorded), *_gauges(expr), *_edges(expr)]
        if "alert" in rule:
            faults += [*_budget(name, expr), *_link(rule.get("annotations", {}))]
        yield from (f"{name}: {fault}" for fault in faults)


def _names(expr: str, recorded: frozenset[str]) -> Iterator[str]:
    for name in sorted(metrics(expr) - recorded - SERIES.keys()):
        if f"{name}_total" in SERIES:
            yield f"{name!r} is {name}_total on the wire, so it can never fire; add _total"
        else:
            yield f"{name!r} is neither recorded nor in the catalogue of metrics; correct it or add it there"


def _gauges(expr: str) -> Iterator[str]:
    for name in sorted(counted(expr)):
        row = SERIES.get(name)
        if row and row.kind == "gauge":
            yield f"{name!r} is a gauge under rate or increase, whose result means nothing; use delta or changes"


def _edges(expr: str) -> Iterator[str]:
    for name, edge in edges(expr):
        row = SERIES.get(name)
        if row and row.edges and edge not in row.edges:
            yield f"{name!r} has no bucket that ends at {edge:g}; allowed are {', '.join(f'{e:g}' for e in row.edges)}"
    for name, limit in quantile_limits(expr):
        row = SERIES.get(name)
        # Above nothing only drops what is NaN.
        if row and row.edges and limit and limit not in row.edges:
            yield f"{limit:g} is no edge of {name!r}, so its quantile is a guess; choose one of its edges"


def _budget(name: str, expr: str) -> Iterator[str]:
    if _PROMISE.search(name) and not _FACTOR.search(expr):
        yield "is named for a budget and is a plain threshold; compare with a burn factor times the budget"


def _link(annotations: Mapping[str, str]) -> Iterator[str]:
    anchor = urlsplit(annotations.get("runbook_url", "")).fragment
    if anchor != anchor.lower():
        yield f"links to #{anchor}, and anchors of pages are lower case; write #{anchor.lower()}"
