"""Which settings a host must have, and with which value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import ROLES, SETTINGS
from infra.catalog.host_tuning.setting import Reading, Scope, Setting, Value
from infra.config.mistakes import nearest
from infra.errors import ConfigError
from infra.plan.hosts.facts import HostFacts, Rail


@dataclass(frozen=True, slots=True)
class Wanted:
    """One setting with the value that one host must have, or one rail of it."""

    setting: Setting
    value: Value
    readings: tuple[Reading, ...]
    """Of the setting, with the names of this host filled in."""
    argument: str
    """Of the setting, likewise."""
    subject: str = ""
    """Interface of the rail; empty: the whole host."""

    @property
    def id(self) -> str:
        """Of the setting, with the rail where there are several, as in ``rdma.mtu[ens1f0np0]``."""
        return f"{self.setting.id}[{self.subject}]" if self.subject else self.setting.id


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
    values = {name: str(value) for name, value in _variables(host).items()}
    rails = {rail.interface: {**values, **_said(rail)} for rail in host.rails}
    return tuple(
        found
        for item in settings
        if fits(item.scope, host) and (value := value_of(item, host)) is not None
        for found in (_of_rails(item, value, rails) if item.per_rail else [_filled(item, value, values)])
    )


def readings(items: Iterable[Wanted]) -> tuple[Reading, ...]:
    """All questions that have to be asked, each once."""
    return tuple(dict.fromkeys(reading for item in items for reading in item.readings))


def fits(scope: Scope, host: HostFacts) -> bool:
    """Whether a host is within a scope."""
    return (
        (not scope.boards or host.board in scope.boards)
        and (not scope.fabrics or host.fabric in scope.fabrics)
        and scope.machine in ("any", host.machine)
        and scope.kubernetes in (None, host.kubernetes)
        and scope.cpu in ("any", host.cpu)
    )


def value_of(setting: Setting, host: HostFacts) -> Value | None:
    """Value of a setting on a host: the inventory's, else the catalogue's; None: nobody says one."""
    value = setting.value
    for case in setting.cases:
        if fits(case.scope, host):
            value = case.value
    return host.variables.get(setting.variable, value)


def _variables(host: HostFacts) -> dict[str, object]:
    """Every variable of every role as it is on a host."""
    others = {variable.name: variable.default for role in ROLES for variable in role.variables}
    return {**others, **{item.variable: value_of(item, host) for item in SETTINGS}, **host.variables}


def _said(rail: Rail) -> dict[str, str]:
    """Fields of a rail that the inventory says."""
    return {name: text for name, text in asdict(rail).items() if text}


def _of_rails(setting: Setting, value: Value, rails: Mapping[str, Mapping[str, str]]) -> Iterator[Wanted]:
    """The setting once for each rail; a value that a rail does not have is not held against anything."""
    for interface, values in rails.items():
        found = _filled(setting, value, values, interface)
        if not _names(found.value):
            yield found
    if not rails:
        # Nothing to ask: it cannot be told, and never passes.
        yield Wanted(setting, value, (), setting.argument)


def _filled(setting: Setting, value: Value, values: Mapping[str, str], subject: str = "") -> Wanted:
    def fill(text: str) -> str:
        # Nearly no text has a name in it, and a fleet has hundreds of thousands.
        return _NAME.sub(lambda match: values.get(match[1], match[0]), text) if "{" in text else text

    def asked(reading: Reading) -> Reading:
        return replace(reading, ask=tuple(map(fill, reading.ask))) if _names(reading.ask) else reading

    readings = tuple(map(asked, setting.readings))
    if subject and any(_names(one.ask) for one in readings):
        readings = ()
    said = tuple(map(fill, value)) if isinstance(value, tuple) else fill(value) if isinstance(value, str) else value
    return Wanted(setting, said, readings, fill(setting.argument), subject)


_NAME = re.compile(r"(?<!\$)\{([a-z][a-z_]*)\}")
"""A name to fill in; not ``${Package}``, which is dpkg-query's own."""


def _names(value: Value) -> bool:
    """Whether a name is left to fill in, such as the PCI address of a rail."""
    words = value if isinstance(value, tuple) else (str(value),)
    return any("{" in word and _NAME.search(word) for word in words)
