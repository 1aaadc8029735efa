"""Hold the links of a fabric against the hosts that should hang on it: each rail, and the links between switches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.catalog.boards import BOARDS
from infra.errors import Unknown
from infra.plan.hosts import Check, HostFacts, Outcome
from runbooks.lib.fabric.claims import Claims
from runbooks.lib.fabric.links import End, Link, Rate
from runbooks.lib.fabric.places import Cable, Holding, Place, holdings, homes

LANES = 4
"""Lanes of a port of a NIC (count). Source: ConnectX-7 and -8, 4x."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Links of a fabric, sorted by what hangs on them."""

    cables: tuple[Cable, ...]
    between_hosts: tuple[Link, ...]
    uplinks: tuple[Link, ...]
    unnamed: Mapping[str, tuple[End, ...]]
    """Host → devices of it whose rail cannot be told."""
    strangers: tuple[Link, ...]
    """Links to a device of no host that is known; it is the near end."""


def verify(links: Sequence[Link], hosts: Sequence[HostFacts], wanted: Rate | None = None) -> list[Check]:
    """Judge each rail of each host, and each switch.

    Args:
        wanted: rate of every link of a host; None: as its board has it.
    Raises:
        Unknown: no link leads to a host, so that nothing can be told.
    """
    seen = sort(links, Claims(hosts))
    if not seen.cables and not seen.unnamed:
        raise Unknown(f"fabric — {len(links)} links, none of them to one of {len(hosts)} hosts — see the node's names")
    held = holdings(seen.cables)
    home = homes(held, seen.cables)
    by = defaultdict(list)
    for cable in seen.cables:
        by[cable.host.name, cable.rail].append(cable)
    checks = [
        check
        for host in hosts
        for rail in range(len(host.rails))
        for check in _rail(host, rail, by[host.name, rail], seen, wanted, held, home)
    ]
    return [*checks, *_uplinks(seen), *(_stranger(link) for link in seen.strangers)]


def sort(links: Iterable[Link], claims: Claims) -> Seen:
    """Tell cables of hosts from links between switches."""
    cables: list[Cable] = []
    between: list[Link] = []
    uplinks: list[Link] = []
    strangers: list[Link] = []
    unnamed: dict[str, list[End]] = defaultdict(list)
    for link in links:
        ends = [(end, claims.of(end.name)) for end in (link.near, link.far)]
        ours = [(end, claim) for end, claim in ends if claim is not None]
        for end, claim in ours:
            if claim.rail is None:
                unnamed[claim.host.name].append(end)
        if len(ours) == 2:
            between.append(link)
        elif ours and ours[0][1].rail is not None:
            far = link.far if ours[0][0] is link.near else link.near
            cables.append(Cable(ours[0][1].host, ours[0][1].rail, far, link))
        elif not ours:
            (strangers if "host" in (link.near.kind, link.far.kind) else uplinks).append(link)
    devices = {host: tuple(found) for host, found in unnamed.items()}
    return Seen(tuple(cables), tuple(between), tuple(uplinks), devices, tuple(strangers))


def _check(subject: str, outcome: Outcome, found: str, wanted: str, action: str = "") -> Check:
    why = "a rail that is missing, slow or on another switch slows every collective over it"
    return Check(f"fabric[{subject}]", outcome, found, wanted, why, "ticket", subject, action)


def _rail(
    host: HostFacts, rail: int, cables: Sequence[Cable], seen: Seen, wanted: Rate | None,
    held: Mapping[str, Holding], home: Mapping[Place, str],
) -> Iterator[Check]:  # fmt: skip
    """What is wrong with a rail; one pass when nothing is."""
    subject = f"{host.name} rail {rail}"
    if len(cables) != 1:
        yield _absent(host, subject, cables, seen)
        return
    cable = cables[0]
    wrong = [*_state(subject, cable), *_rate(subject, cable, wanted), *_place(subject, cable, seen, held, home)]
    told = f"{cable.link.rate} on {cable.switch}"
    yield from wrong or [_check(subject, Outcome.PASS, told, f"{cable.place}")]


def _absent(host: HostFacts, subject: str, cables: Sequence[Cable], seen: Seen) -> Check:
    if cables:
        ends = " and ".join(str(cable.switch) for cable in cables)
        return _check(subject, Outcome.UNKNOWN, f"two devices of this name, on {ends}", "one", "see who uses the name")
    if devices := seen.unnamed.get(host.name, ()):
        names = ", ".join(sorted({end.name for end in devices}))
        fix = "name devices by their place (NAME_PCI, role rdma) or their interfaces in the inventory"
        return _check(subject, Outcome.UNKNOWN, f"devices of unknown rail: {names}", "a device of this rail", fix)
    for link in seen.between_hosts:
        for end, other in ((link.near, link.far), (link.far, link.near)):
            claim = Claims([host]).of(end.name)
            if claim is not None and f"{host.name} rail {claim.rail}" == subject:
                return _check(subject, Outcome.FAIL, f"cabled to {other}", "a switch", "cable it to its switch")
    return _check(
        subject, Outcome.FAIL, "no link", "a link that is up", "see its cable, its NIC and ibstat on the host"
    )


def _state(subject: str, cable: Cable) -> Iterator[Check]:
    if cable.link.state not in ("", "Active"):
        fix = "see that one subnet manager runs (opensm or UFM), and sminfo"
        yield _check(subject, Outcome.FAIL, f"{cable.link.state} on {cable.switch}", "Active", fix)


def _rate(subject: str, cable: Cable, wanted: Rate | None) -> Iterator[Check]:
    found = cable.link.rate
    gbit = wanted.gbit if wanted else _board_gbit(cable.host)
    least = str(wanted) if wanted else f"{gbit:g} Gbit/s"
    if not found.gbit or not gbit:
        yield _check(subject, Outcome.UNKNOWN, f"{found}, a rate that is not known", least, "give --rate")
    elif found.gbit < gbit:
        what = "narrow" if found.lanes < LANES else "slow"
        fix = "clean or replace cable and module; see its bit errors (mlxlink)"
        yield _check(subject, Outcome.FAIL, f"{what}: {found} on {cable.switch}", least, fix)


def _board_gbit(host: HostFacts) -> float:
    board = BOARDS.get(host.board)
    if board is None or not board.rails:
        return 0.0
    # A NIC of two ports is two rails of the inventory.
    return board.rail_gbit / max(1, len(host.rails) // board.rails)


def _place(
    subject: str, cable: Cable, seen: Seen, held: Mapping[str, Holding], home: Mapping[Place, str]
) -> Iterator[Check]:
    here = held[cable.switch.node]
    if here.place is None:
        found = f"on {cable.switch}, where no rail of a leaf has more than half of the cables"
        yield _check(subject, Outcome.UNKNOWN, found, str(cable.place), "see the plan of the cables")
        return
    meant = Place(cable.host.leaf, None) if here.place.rail is None else cable.place
    switch = home.get(meant, "")
    if here.place == meant and switch in ("", cable.switch.node):
        if not switch:
            found = f"on {cable.switch}, and as many of {meant} on another switch"
            yield _check(subject, Outcome.UNKNOWN, found, str(meant), "see the plan of the cables")
        return
    where = f"which is for {here.place} ({here.share} cables)" if here.place != meant else f"and most of {meant} is not"
    wanted = f"{meant}{f', on {held[switch].switch.name!r}' if switch else ''}"
    swapped = [one for one in seen.cables if one.switch.node == switch and one.place == here.place]
    fix = f"swap it with {swapped[0]}" if len(swapped) == 1 else "move its cable"
    yield _check(subject, Outcome.FAIL, f"on {cable.switch}, {where}", wanted, fix)


def _uplinks(seen: Seen) -> Iterator[Check]:
    """Links between switches: as fast as most, and as many on each switch with hosts as on most of them."""
    rates = Counter(link.rate for link in seen.uplinks)
    usual = max(rates, key=lambda rate: (rates[rate], rate.gbit), default=None)
    for link in seen.uplinks:
        if usual and link.rate.gbit < usual.gbit:
            subject = f"{link.near} to {link.far}"
            yield _check(subject, Outcome.FAIL, str(link.rate), f"{usual}, as others have", "clean or replace it")
    leaves = {cable.switch.node: cable.switch.name for cable in seen.cables}
    counts = Counter(dict.fromkeys(leaves, 0))
    counts.update(end.node for link in seen.uplinks for end in (link.near, link.far) if end.node in leaves)
    most = max(Counter(counts.values()).items(), key=lambda one: (one[1], one[0]), default=(0, 0))[0]
    for node, count in counts.items():
        if count < most:
            found, fix = (
                f"{count} link{'' if count == 1 else 's'} to other switches",
                "see its ports that are down, and their cables",
            )
            yield _check(f"switch {leaves[node]!r}", Outcome.FAIL, found, f"{most}, as others have", fix)


def _stranger(link: Link) -> Check:
    end, switch = (link.near, link.far) if link.near.kind == "host" else (link.far, link.near)
    fix = "list the host, or see that its node description is set (rdma-ndd)"
    return _check(f"device {end.name!r}", Outcome.UNKNOWN, f"of no host, on {switch}", "a host of the inventory", fix)
