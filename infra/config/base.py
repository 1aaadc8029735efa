"""What all config models share: frozen, no unknown keys, and durations as people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def parse_duration(value: Any) -> Any:
    """Read ``90s``, ``10m`` or ``1h30m``; a bare number could mean seconds or minutes, so it is a mistake."""
    if isinstance(value, timedelta):
        return value
    match = _PARTS.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match or not any(match.groups()):
        raise ValueError("not a duration; write it like 90s, 10m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if not 1 <= total <= LONGEST_SECONDS:
        raise ValueError("out of range; allowed is 1s to 168h, change it")
    return timedelta(seconds=total)


LONGEST_SECONDS = 168 * 3600
"""Longest duration a stack may name (seconds): a week. Source: our choice; Kubernetes counts in 32 bits."""

Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
"""A positive length of time, written ``90s``, ``10m`` or ``1h30m``."""

NAME_PATTERN = r"^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$"
"""Names end up in Kubernetes object names with suffixes: 30 characters leave room within 63. Source: RFC 1123."""

LABEL_PATTERN = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
"""A Kubernetes label key. Source: kubernetes.io, Labels and Selectors."""

LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"
"""A Kubernetes label value. Source: kubernetes.io, Labels and Selectors."""

HOST_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"
"""Name of a node of Kubernetes. Source: kubernetes.io, Object Names and IDs (RFC 1123 subdomain)."""

INTERFACE_PATTERN = r"^[^/\s:]{1,15}$"
"""Name of a network interface. Source: Linux, dev_valid_name and IFNAMSIZ."""

PCI_PATTERN = r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"
"""Address of a PCI function: domain, bus, device and function. Source: Linux, sysfs-pci."""

REGISTRY_PATTERN = r"^[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*$"
"""A folder of a registry, without tag. Source: OCI distribution specification, names."""

Labels = dict[Annotated[str, Field(pattern=LABEL_PATTERN)], Annotated[str, Field(pattern=LABEL_VALUE_PATTERN)]]
"""Labels of a host, as Kubernetes takes them."""

Registry = Annotated[str, Field(pattern=REGISTRY_PATTERN)]
"""A folder of a registry that images are mirrored in."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""Lower-case letters, digits and dashes, at most 30, starting with a letter."""


class Frozen(BaseModel):
    """Base of all config models: immutable, and a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _yes_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        # Python counts with True; a spec that says so is mistaken.
        if isinstance(value, bool) and not _takes_yes(cls.model_fields[info.field_name or ""].annotation):
            raise ValueError("no number; write one")
        return value


def _takes_yes(annotation: Any) -> bool:
    parts = get_args(annotation)
    if parts and get_origin(annotation) is not Literal:
        return any(_takes_yes(part) for part in parts)
    return annotation not in (int, float)
