"""Find what is wrong with the lab, say why, and what to do about it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import psutil
from cryptography import x509

from infra.units import GIB, gib
from lab import paths
from lab.cluster import leftovers, namespace, pki, prerequisites, registry
from lab.cluster.lab import Lab, remembered, this_clone
from lab.cluster.leftovers import Leftover
from lab.cluster.network import Network
from lab.cluster.registry import Record
from lab.cluster.status import Row, Status, status

DISK_FREE = 2 * GIB
"""Less than this, and the kubelet soon begins to evict at 1 GiB (bytes)."""

MEMORY_FREE = 1 * GIB
"""Less than this, and one more part or pod may not fit (bytes)."""

FLAPPING = 3
"""Ends of one part within ``FLAPPING_WINDOW`` that are no accident any more (count)."""

FLAPPING_WINDOW = timedelta(minutes=10)
"""How far back ends are counted."""

COMPLAINTS: Mapping[str, tuple[str, str]] = {
    "address already in use": ("its port is taken", "end what listens there: `ss -ltnp` inside the lab shows it"),
    "no space left on device": ("the disk is full", "free space on the clone's disk, then it comes back by itself"),
    "certificate has expired": ("a certificate has expired", "run `lab up`, which renews certificates"),
    "certificate is not yet valid": ("the clock went back", "set the machine's clock, then run `lab up`"),
    "too many open files": ("it may open too few files", "raise `ulimit -n` and run `lab down`, `lab up`"),
    "cannot allocate memory": ("memory ran out", "end other programs, or give the machine more memory"),
}
"""What parts say in their logs, what it means, and what to do."""


@dataclass(frozen=True)
class Finding:
    """Something wrong: who has it, what was found, how to put it right."""

    who: str
    found: str
    fix: str


def doctor() -> list[Finding]:
    """Look at everything; empty when nothing is wrong."""
    now = datetime.now(UTC)
    lab_id, record = paths.lab_id(), registry.read(paths.lab_id())
    found = [*memory_findings(psutil.virtual_memory().available), *leftover_findings(leftovers.find(), lab_id)]
    found += orphan_findings([other for other in registry.read_all() if other.is_alive])
    network = remembered(paths.state_dir())
    if network is None:
        return found
    lab = this_clone(network)
    found += [Finding("prerequisites", problem, "see there") for problem in prerequisites.problems(lab)]
    if record is None or (record.wanted == "down" and not record.is_alive):
        found.append(down_finding(lab_id))
    found += disk_findings(shutil.disk_usage(lab.state).free, str(lab.state))
    found += certificate_findings(pki.read_certificates(lab.pki), now)
    if record:
        found += entry_findings(record, alive=record.is_alive, watched=leftovers.is_watched(record))
    if record and record.is_alive:
        found += living_findings(lab, status(), now)
    return found


def living_findings(lab: Lab, found: Status, now: datetime) -> Iterator[Finding]:
    """What is wrong with a lab that runs."""
    if not lab.simulated:
        if not namespace.is_linked(lab.link):
            yield Finding("network", f"the lab's link {lab.link} is gone", "run `lab up`, which makes it again")
        yield from network_findings(lab.network, namespace.networks_in_use(but_not=lab.link))
    log = lab.logs / "supervisord.log"
    ends = count_ends(log.read_text(errors="replace").splitlines() if log.exists() else [], now)
    for row in found.rows:
        path = lab.logs / f"{row.part}.log"
        lines = path.read_text(errors="replace").splitlines()[-50:] if path.exists() else []
        yield from part_findings(row, lines, ends.get(row.part, 0))


def part_findings(row: Row, log: Iterable[str], ends: int) -> Iterator[Finding]:
    """A part that is dead, does not answer, or ends again and again."""
    if row.state in ("fails", "ended"):
        text = "\n".join((row.detail, *log)).lower()
        for words, (meaning, fix) in COMPLAINTS.items():
            if words in text:
                yield Finding(row.part, f"{row.state}: {meaning}", fix)
                return
        fix = f"read `lab logs {row.part}`; `lab up` mends what it can"
        yield Finding(row.part, f"{row.state}: {row.detail or 'no process'}", fix)
    elif row.state == "stopped":
        yield Finding(
            row.part, "was stopped or paused on somebody's order", "run `lab up`, or `part start` on its host"
        )
    elif ends >= FLAPPING:
        minutes = FLAPPING_WINDOW // timedelta(minutes=1)
        yield Finding(row.part, f"works now, but ended {ends} times in {minutes} min", f"read `lab logs {row.part}`")


def count_ends(log: Iterable[str], now: datetime) -> dict[str, int]:
    """How often each part ended lately without being asked, from supervisord's log in local time.

    Ends before the last start of the lab belong to another life of it.
    """
    ends: dict[str, int] = {}
    for line in log:
        if "supervisord started with pid" in line:
            ends = {}
        match = re.match(r"(\S+ \S+),\d+ \w+ exited: (\S+) \(.*not expected\)", line)
        if match and now - datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").astimezone() < FLAPPING_WINDOW:
            ends[match[2]] = ends.get(match[2], 0) + 1
    return ends


def certificate_findings(certificates: Mapping[str, x509.Certificate], now: datetime) -> Iterator[Finding]:
    """Certificates that ran out, soon will, or begin in the future."""
    for name, certificate in certificates.items():
        left = certificate.not_valid_after_utc - now
        if left < timedelta():
            yield Finding(f"certificate {name}", f"expired {(-left).days} days ago", "run `lab up`, which renews it")
        elif left < pki.RENEW_BEFORE:
            yield Finding(f"certificate {name}", f"expires in {left.days} days", "run `lab up`, which renews it")
        elif certificate.not_valid_before_utc > now:
            begins = certificate.not_valid_before_utc.isoformat(timespec="minutes")
            yield Finding(f"certificate {name}", f"begins at {begins}, in the future", "set the machine's clock")


def down_finding(lab_id: str) -> Finding:
    """A lab that ran once and that the user took down, or that a restart of the machine ended."""
    return Finding(f"lab {lab_id}", "is down", "run `lab up`, which brings it back as it was")


def was_ever_up() -> bool:
    """Whether this clone's lab was started since it was made, or purged."""
    return remembered(paths.state_dir()) is not None


def entry_findings(record: Record, *, alive: bool, watched: bool) -> Iterator[Finding]:
    """An entry whose process is gone, or that nobody watches."""
    if not alive and record.wanted == "up":
        outlook = "its watcher is about to bring it back" if watched else "nobody watches it"
        gone = f"its first process {record.pid} is gone (stale pid), {outlook}"
        yield Finding(f"lab {record.lab_id}", gone, "run `lab up`")
    elif not watched and record.wanted == "up":
        yield Finding(f"lab {record.lab_id}", "runs, but nobody watches it", "run `lab up`, which starts a watcher")


def orphan_findings(living: Iterable[Record]) -> Iterator[Finding]:
    """Labs that nobody can take down any more, because their clone was deleted."""
    for record in living:
        if not Path(record.clone).is_dir():
            gone = f"runs, but its clone {record.clone} is gone"
            fix = f"end it with `kill -9 {record.pid}`; `lab up` removes the rest"
            yield Finding(f"lab {record.lab_id}", gone, fix)


def leftover_findings(left: Iterable[Leftover], own: str) -> Iterator[Finding]:
    """What dead labs left; our own dead lab is told elsewhere."""
    for one in left:
        if one.lab_id != own:
            yield Finding(f"lab {one.lab_id}", f"is dead and left {one.kind} {one.name}", "run `lab up` or `lab down`")


def network_findings(network: Network, taken: Iterable[str]) -> Iterator[Finding]:
    """Something that took the lab's addresses after it had started, such as a VPN."""
    for other in taken:
        if network.whole.overlaps(ip_network(other, strict=False)):
            yield Finding("network", f"{network.whole} meets {other} on this machine", "run `lab down`, then `lab up`")


def disk_findings(free: int, where: str) -> Iterator[Finding]:
    """A disk that is nearly full."""
    if free < DISK_FREE:
        yield Finding("disk", f"{gib(free)} free at {where}, {gib(DISK_FREE)} are needed", "free space there")


def memory_findings(free: int) -> Iterator[Finding]:
    """Memory that is nearly used up."""
    if free < MEMORY_FREE:
        yield Finding("memory", f"{gib(free)} available, {gib(MEMORY_FREE)} are needed", "end other programs")
