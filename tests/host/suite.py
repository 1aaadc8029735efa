"""The hosts of one session, what is asked of them, and what has come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.catalog.host_tuning.setting import Answer, Reading
from infra.errors import ConfigError, Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, Wanted, readings, wanted
from runbooks.lib.hosts.listed import read
from runbooks.lib.hosts.proof import AT_ONCE, here, judged, over_ssh
from runbooks.lib.hosts.ssh import Connections
from tests.host import plain

CANNOT_TELL = "cannot tell"
"""Third outcome of a test."""


@dataclass(frozen=True)
class Subject:
    """One setting of one host."""

    host: HostFacts
    item: Wanted

    def __str__(self) -> str:
        return f"{self.host.name}-{self.item.id}"


class Suite:
    """The hosts of an inventory."""

    def __init__(self, inventory: Path, *, is_slow: bool) -> None:
        listed = read(inventory)
        self.hosts = listed.hosts
        self.subjects = [Subject(host, item) for host in listed.hosts for item in wanted(host)]
        self.checks: dict[str, list[Check]] = {}
        """Checks made so far, by host."""
        self.dark: dict[str, str] = {}
        """Hosts that do not answer, with the reason."""
        self._listed, self._is_slow = listed, is_slow
        self._answers: dict[str, Mapping[Reading, Answer]] = {}
        self._plain: dict[str, Any] = {}

    def meet(self, names: Iterable[str]) -> None:
        """Ask hosts, or see whether they answer, all at once."""
        hosts = [host for host in self.hosts if host.name in set(names)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for host, why in zip(hosts, threads.map(self._meet, hosts), strict=True):
                if why:
                    self.dark[host.name] = why

    def check(self, subject: Subject) -> Check:
        """Judge one setting.

        Raises:
            Unknown: it cannot be told.
        """
        host, item = subject.host, subject.item
        if host.name in self.dark:
            why = self.dark[host.name]
            dark = Check("host", Outcome.UNKNOWN, why, "an answer", "nothing is known of a host in the dark", "ticket")
            self.checks.setdefault(host.name, []).append(dark)
            raise Unknown(f"{host.name} does not answer: {why}")
        found = judged(item, self.slow(host, [item]) if self._is_slow else self._answers[host.name])
        self.checks.setdefault(host.name, []).append(found)
        if found.outcome is Outcome.UNKNOWN:
            raise Unknown(f"{host.name} {found.id} cannot be told: {found.found}")
        return found

    def fast(self, host: HostFacts, items: Iterable[Wanted]) -> Mapping[Reading, Answer]:
        """Ask for everything in one round trip."""
        ask = here if host.name in self._listed.local else over_ssh(Connections(self._listed.ssh_config))
        return ask(host, readings(items))

    def slow(self, host: HostFacts, items: Iterable[Wanted]) -> Mapping[Reading, Answer]:
        """Ask one question after the other."""
        if host.name not in self._plain:
            is_local = host.name in self._listed.local
            self._plain[host.name] = plain.connect(host, self._listed.ssh_config, local=is_local)
        return plain.ask(self._plain[host.name], readings(items))

    def _meet(self, host: HostFacts) -> str:
        """Why a host does not answer; empty when it does."""
        try:
            if self._is_slow:
                self.slow(host, [])
            else:
                self._answers[host.name] = self.fast(host, wanted(host))
        except (Unknown, ConfigError) as error:
            return str(error)
        return ""
