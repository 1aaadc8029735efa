"""One sysctl as a setting: its value now, and the one that a file gives it at boot."""

from __future__ import annotations

from typing import Literal

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import EVERYWHERE
from infra.catalog.host_tuning.parsers import boot
from infra.catalog.host_tuning.setting import Compare, Scope, Setting, Value, files


def sysctl(  # noqa: PLR0913  a row of a table: each column has its name
    role: str,
    key: str,
    value: Value,
    what: str,
    why: str,
    source: str,
    *,
    compare: Compare = "equals",
    also: tuple[str, ...] = (),
    choices: tuple[int, ...] = (),
    unit: str = "",
    scope: Scope = EVERYWHERE,
    name: str = "",
    per_rail: bool = False,
    severity: Literal["page", "ticket", "note"] = "ticket",
    fix: str = "",
) -> Setting:
    """One sysctl, read where the kernel shows it and where files set it; with a fix, no role applies it."""
    short = name or key.rpartition(".")[2]
    return Setting(
        id=f"{role}.{short}",
        variable="" if fix else f"{role}_{short}",
        fix=fix,
        what=what,
        why=why,
        value=value,
        compare=compare,
        also=also,
        choices=choices,
        readings=(files(f"/proc/sys/{key.replace('.', '/')}"), *readings.SYSCTL_FILES),
        parse=boot.sysctl,
        argument=key,
        source=source,
        unit=unit,
        scope=scope,
        per_rail=per_rail,
        severity=severity,
        key=key,
    )
