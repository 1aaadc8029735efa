"""Scheduling: who decides where pods go."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from infra.catalog.kueue import NEWEST, RELEASES, release
from infra.config.base import Frozen, Name

Tier = Literal["premium", "standard", "batch"]
"""How requests, and the pods that answer them, rank when there is not room for all."""


class Kueue(Frozen):
    """Queues with quotas, and places by host and leaf, in front of the cluster's own scheduler."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] = NEWEST
    """Version of Kueue; decides in which version of its API our objects are written."""
    install: bool = True
    """Whether the stack installs it; not where the cluster has it already."""
    namespace: Name = "kueue-system"
    """Where its controller runs."""

    @field_validator("version")
    @classmethod
    def _is_offered(cls, value: str) -> str:
        if release(value) not in RELEASES:
            raise ValueError(
                f"release {release(value)} is not known to work; allowed are {', '.join(RELEASES)}, choose one"
            )
        return value


class Scheduling(Frozen):
    """How pods find their hosts; left out, by constraints that every Kubernetes scheduler keeps."""

    kueue: Kueue | None = None
