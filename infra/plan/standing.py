"""Where the pods of a model stand among all others: their tier, and the queue that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from infra.catalog.boards import BOARDS
from infra.config.keys import Key
from infra.config.models import Model
from infra.config.pools import Pool
from infra.config.scheduling import Scheduling, Tier

TIERS: tuple[Tier, ...] = get_args(Tier)
"""From the first to be served to the last."""

SHARED = "shared"
"""Tenant in the name of a queue whose pool all tenants share."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides who waits when there is not room for all."""

    tier: Tier
    tenant: str = ""
    """Whose pool it is; empty where all tenants share it."""
    queue: str = ""
    """Kueue's queue that its pods come from; empty without Kueue."""


def standing(name: str, model: Model, pool: Pool, keys: Mapping[str, Key], scheduling: Scheduling) -> Standing:
    """Find where a model stands; only GPUs are scarce enough for queues."""
    tier, tenant = model.tier or best_tier(name, keys.values()), pool.tenant or ""
    has_queue = scheduling.kueue and BOARDS[pool.board].gpu
    return Standing(tier, tenant, f"{tenant or SHARED}-{tier}" if has_queue else "")


def best_tier(name: str, keys: Iterable[Key]) -> Tier:
    """The best tier of the keys that open a model; standard when none does."""
    opened = {key.tier for key in keys if key.models is None or name in key.models}
    return next((tier for tier in TIERS if tier in opened), "standard")
