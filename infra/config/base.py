"""What all config models share: frozen, no unknown keys, and durations as people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def parse_duration(value: Any) -> Any:
    """Read ``90s``, ``10m`` or ``1h30m``; leave everything else to pydantic."""
    if not isinstance(value, str):
        return value
    match = _PARTS.fullmatch(value.strip())
    if not match or not any(match.groups()):
        raise ValueError("not a duration; write it like 90s, 10m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


Duration = Annotated[timedelta, BeforeValidator(parse_duration), Field(gt=timedelta(0))]
"""A positive length of time, written ``90s``, ``10m`` or ``1h30m``."""

NAME_PATTERN = r"^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$"
"""Names end up in Kubernetes object names with suffixes: 30 characters leave room within 63. Source: RFC 1123."""

LABEL_PATTERN = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
"""A Kubernetes label key. Source: kubernetes.io, Labels and Selectors."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""Lower-case letters, digits and dashes, at most 30, starting with a letter."""


class Frozen(BaseModel):
    """Base of all config models: immutable, and a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)
