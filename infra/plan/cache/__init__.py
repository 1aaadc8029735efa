"""What an engine keeps of requests: blocks of one rank, requests that they hold, the longest that fits."""

from __future__ import annotations

from infra.plan.cache.pool import Pool, pool
from infra.plan.cache.request import Request

__all__ = ["Pool", "Request", "pool"]
