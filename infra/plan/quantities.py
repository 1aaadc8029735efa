"""Quantities of Kubernetes as whole numbers, so that they can be added up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from infra.errors import ConfigError

_FORM = re.compile(r"(\d+(?:\.\d+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")
_BINARY = {unit: Fraction(1024**power) for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1)}
_DECIMAL = {unit: Fraction(1000**power) for power, unit in enumerate(("k", "M", "G", "T", "P"), start=1)}
_UNITS = {**_BINARY, **_DECIMAL, "m": Fraction(1, 1000), "": Fraction(1)}
"""Factor by suffix. Source: Kubernetes, resource.Quantity."""

Amounts = Mapping[str, Fraction]
"""By resource; CPUs in cores, memory in bytes, devices as counts."""


def read(quantity: str) -> Fraction:
    """Read one, such as ``1500m`` or ``2Gi``.

    Raises:
        ConfigError: it is none.
    """
    match = _FORM.fullmatch(quantity)
    if match is None:
        raise ConfigError(f"quantity {quantity!r} — is none of Kubernetes — write it like 1500m or 2Gi")
    return Fraction(match[1]) * _UNITS[match[2] or ""]


def write(amount: Fraction) -> str:
    """Write one: whole where it is, else in thousandths."""
    return str(amount.numerator) if amount.denominator == 1 else f"{int(amount * 1000)}m"


def total(parts: Iterable[Amounts]) -> dict[str, Fraction]:
    """Add amounts up, resource by resource."""
    found: dict[str, Fraction] = {}
    for part in parts:
        for resource, amount in part.items():
            found[resource] = found.get(resource, Fraction(0)) + amount
    return found
