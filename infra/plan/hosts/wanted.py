"""Which settings a host must have, and with which value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import SETTINGS
from infra.catalog.host_tuning.setting import Reading, Scope, Setting, Value
from infra.config.mistakes import nearest
from infra.errors import ConfigError
from infra.plan.hosts.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Wanted:
    """One setting with the value that one host must have."""

    setting: Setting
    value: Value


def wanted(host: HostFacts, settings: Iterable[Setting] = SETTINGS) -> tuple[Wanted, ...]:
    """All settings that are for a host.

    Raises:
        ConfigError: its board is not known, so that nothing is known of what it needs.
    """
    if host.board not in BOARDS:
        raise ConfigError(
            f"host {host.name!r} — board {host.board!r} is not known, and no other's settings are taken for it — "
            f"{nearest(host.board, list(BOARDS))}"
        )
    return tuple(Wanted(item, _value(item, host)) for item in settings if fits(item.scope, host))


def readings(items: Iterable[Wanted]) -> tuple[Reading, ...]:
    """All questions that have to be asked, each once."""
    return tuple(dict.fromkeys(reading for item in items for reading in item.setting.readings))


def fits(scope: Scope, host: HostFacts) -> bool:
    """Whether a host is within a scope."""
    return (
        (not scope.boards or host.board in scope.boards)
        and (not scope.fabrics or host.fabric in scope.fabrics)
        and scope.machine in ("any", host.machine)
        and scope.kubernetes in (None, host.kubernetes)
    )


def _value(setting: Setting, host: HostFacts) -> Value:
    value = setting.value
    for case in setting.cases:
        if fits(case.scope, host):
            value = case.value
    return value
