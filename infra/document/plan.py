"""The documents that ``infra plan --json`` prints, and the schema of both."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import TypeAdapter

from infra.document.base import Part
from infra.document.model import ModelPart

VERSION: Literal[1] = 1
"""Of the schema; it grows when something is taken away or changes its meaning."""


class PoolPart(Part):
    """One pool."""

    name: str
    board: str
    gpu: str | None
    gpus: int
    hosts: int
    spare_hosts: int
    leaves: int
    fabric: str
    is_simulated: bool
    usd_per_hour: float | None


class NeedPart(Part):
    """One thing that the cloud's account must have before the stack can be made."""

    kind: Literal["quota", "feature", "right"]
    name: str
    place: str
    amount: int | None
    """None where it is there or not."""
    unit: str
    for_whom: str
    source: str


class GatewayPart(Part):
    """The gateway."""

    image: str
    replicas: int
    longest_answer_s: int
    grace_s: int


class PlanDocument(Part):
    """A stack, or one model without a stack."""

    schema_version: Literal[1] = VERSION
    stack: str | None
    """None for one model without a stack."""
    problems: list[str]
    """All that is refused; empty when the plan can be carried out."""
    notes: list[str]
    target: str | None
    needs: list[NeedPart]
    pools: list[PoolPart]
    models: list[ModelPart]
    gateway: GatewayPart | None
    usd_per_hour: float | None
    """All hosts of the stack, busy or not; None when a price is not known."""


class ChangePart(Part):
    """One figure that two plans do not agree on."""

    key: str
    figure: str
    unit: Literal["bytes", "count", "seconds", "usd", "tokens", "text"]
    before: int | float | str | None
    after: int | float | str | None
    grows_by: float | None


class DiffDocument(Part):
    """What changes between two stacks."""

    schema_version: Literal[1] = VERSION
    before: str
    after: str
    changes: list[ChangePart]


def schema() -> dict[str, Any]:
    """JSON schema of whatever ``infra plan --json`` prints."""
    made = TypeAdapter(PlanDocument | DiffDocument).json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "infra plan --json", **made}
