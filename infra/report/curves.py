"""What the plots draw: requests against their length, and cost against load."""

from __future__ import annotations

from dataclasses import replace

from infra.plan.cost import cost, work_of
from infra.plan.outlook import Outlook

SHORTEST = 1024
"""Length at which the curve of requests begins (tokens)."""

Points = list[tuple[int, float]]
"""Coordinates, from left to right."""


def held_by_length(outlook: Outlook) -> Points:
    """Requests that fit at once on one rank, from short ones to the longest that is admitted."""
    longest = min(outlook.memory.longest(outlook.single.architecture.max_context), outlook.single.settings.length)
    if longest < 1:
        return []
    lengths = [SHORTEST << step for step in range(24) if SHORTEST << step < longest]
    return [(length, outlook.memory.concurrency(length)) for length in (*lengths, longest)]


def cost_by_load(outlook: Outlook) -> Points:
    """US dollars for a million tokens answered, from one request at once to as many as one replica holds.

    Empty where speed or price are not known.
    """
    alone = outlook.speed_at(1)
    if outlook.load is None or outlook.speed is None or outlook.cost is None or alone is None:
        return []
    most = max(1, int(outlook.memory.concurrency(outlook.length)) * outlook.single.layout.data)
    gpus = outlook.single.layout.gpus
    points = []
    for requests in (*(1 << step for step in range(24) if 1 << step < most), most):
        if busy := outlook.speed_at(requests):
            work = work_of(busy, alone, replace(outlook.load, concurrency=requests))
            paid = cost(outlook.cost.price, used=gpus, held=gpus, replicas=1, work=work)
            points.append((requests, paid.usd_per_million_out or 0.0))
    return points
