"""Memory of one rank by the rules of an engine and its version."""

from __future__ import annotations

from infra.plan.memory.budget import size, size_on_host
from infra.plan.memory.margin import unseen
from infra.plan.memory.options import Options
from infra.plan.memory.result import Memory

__all__ = ["Memory", "Options", "size", "size_on_host", "unseen"]
