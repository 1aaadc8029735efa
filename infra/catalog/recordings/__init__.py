"""Recording rules: one group per level, each name ``level:metric:operation``."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.recordings.fabric import FABRIC
from infra.catalog.recordings.gateway import GATEWAY
from infra.catalog.recordings.gpu import GPU
from infra.catalog.recordings.host import HOST
from infra.catalog.recordings.model import COST, MODEL
from infra.catalog.recordings.presence import PRESENCE
from infra.catalog.recordings.recording import Recording
from infra.catalog.recordings.slo import SLO
from infra.catalog.recordings.tenant import TENANT

GROUPS: Mapping[str, tuple[Recording, ...]] = {
    "gpu": GPU,
    "host": HOST,
    "fabric": FABRIC,
    "gateway": GATEWAY,
    "tenant": TENANT,
    "model": MODEL,
    "cost": COST,
    "slo": SLO,
    "presence": PRESENCE,
}
"""Rules of a group run one after the other, so a rule may use those above it in the same run."""

RECORDINGS: Mapping[str, Recording] = {row.name: row for rows in GROUPS.values() for row in rows}
"""By name."""
