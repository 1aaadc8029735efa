"""Prove hosts: each is asked once for everything, and every setting that it must have is judged here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from infra.catalog.host_tuning.readings import KERNEL_LOG
from infra.catalog.host_tuning.setting import Answer, Reading, files
from infra.errors import ConfigError, Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, Wanted, judge, readings, wanted
from runbooks.lib.hosts.answers import ask_all
from runbooks.lib.hosts.kernel_log import Fault, faults, standing, worst
from runbooks.lib.hosts.ssh import Connections
from runbooks.lib.writing import Result

AT_ONCE = 32
"""Hosts that are asked at the same time (count): each is one connection and little work here."""

SECONDS = 60.0
"""How long one host may take for all its answers (s); the program on the host gives up before."""

UPTIME = files("/proc/uptime")
"""Seconds since boot, from which the kernel's log counts."""

Ask = Callable[[HostFacts, Sequence[Reading]], Mapping[Reading, Answer]]
"""Asks a host all its readings.

Raises:
    ConfigError: its key is not known, or ours not welcome.
    Unknown: it does not answer, or what it says is no answer.
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of one host."""

    host: HostFacts
    checks: tuple[Check, ...]
    faults: tuple[Fault, ...] = ()
    """The worst that its kernel told of each device since boot; they are news, not settings, and judge nothing."""
    dark: str = ""
    """Why nothing is known; empty when it answered."""


def prove(hosts: Iterable[HostFacts], ask: Ask) -> list[Proof]:
    """Prove many hosts at once; one that does not answer costs the others nothing."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(lambda host: _prove(host, ask), hosts))


def over_ssh(connections: Connections) -> Ask:
    """Ask hosts over ssh, by address or else by name."""

    def ask(host: HostFacts, asked: Sequence[Reading]) -> Mapping[Reading, Answer]:
        way = host.address or host.name
        return ask_all(host.name, asked, lambda argv, given: connections.run(way, argv, timeout=SECONDS, given=given))

    return ask


def here(host: HostFacts, asked: Sequence[Reading]) -> Mapping[Reading, Answer]:
    """Ask this machine, as a host whose connection is local."""

    def send(argv: Sequence[str], given: bytes) -> Result:
        done = subprocess.run(list(argv), input=given, capture_output=True, check=False, timeout=SECONDS)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return ask_all(host.name, asked, send)


def judged(item: Wanted, said: Mapping[Reading, Answer]) -> Check:
    """Judge one setting, whatever the host said: what no parser can read cannot be told, and ends nothing else."""
    try:
        return judge(item, said)
    except (ValueError, LookupError) as error:
        setting, found = item.setting, f"what it says cannot be read ({error})"
        return Check(item.id, Outcome.UNKNOWN, found, str(item.value), setting.why, setting.severity, item.subject)


def _prove(host: HostFacts, ask: Ask) -> Proof:
    try:
        items = wanted(host)
        said = ask(host, (*dict.fromkeys((*readings(items), KERNEL_LOG, UPTIME)),))
    except (Unknown, ConfigError) as error:
        # One line for a host, not one for each of its settings.
        return Proof(host, (_dark(str(error)),), dark=str(error))
    return Proof(host, tuple(judged(item, said) for item in items), _faults(said))


def _dark(why: str) -> Check:
    return Check("host", Outcome.UNKNOWN, why, "an answer", "nothing is known of a host that does not answer", "ticket")


def _faults(said: Mapping[Reading, Answer]) -> tuple[Fault, ...]:
    """Faults in the kernel's log; none where it may not be read, which a check of the catalogue tells."""
    now = datetime.now(UTC)
    up = said[UPTIME].texts.get("/proc/uptime", "").split()
    lines = said[KERNEL_LOG].texts.get("", "").splitlines()
    found = faults(lines, now=now, boot=now - timedelta(seconds=float(up[0])) if up else None)
    return tuple(worst(standing(found, lines)).values())
