"""Each rail of each host is right, wrong, or cannot be told, by what most cables of its switch say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from infra.errors import Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, Rail
from runbooks.lib.fabric.claims import Claims, device_names
from runbooks.lib.fabric.links import End, Link, Rate
from runbooks.lib.fabric.verify import verify

NDR = Rate(4, "NDR")
PCI = ("0000:1b:00.0", "0000:43:00.0")
HOSTS = [
    HostFacts(
        f"h{n}", "p", "hgx-h100", "infiniband", f"leaf-{n // 4}", rails=tuple(Rail(f"ib{k}", PCI[k]) for k in (0, 1))
    )
    for n in range(8)
]
"""Eight hosts of two rails on two leaves."""

DEVICES = ("ibp27s0", "ibp67s0")
"""Names that udev gives the devices of both rails."""


def _switch(leaf: int, rail: int, port: int) -> End:
    return End(f"sw-{leaf}{rail}", f"a{leaf}{rail}", port, "switch")


def _nic(host: int, rail: int) -> End:
    return End(f"h{host} {DEVICES[rail]}", f"b{host}{rail}", 1, "host")


def _cables() -> dict[tuple[int, int], Link]:
    """Every rail where it belongs, by host and rail."""
    return {
        (host, rail): Link(_nic(host, rail), _switch(host // 4, rail, host % 4 + 1), NDR, "Active")
        for host in range(8)
        for rail in (0, 1)
    }


def _uplinks() -> list[Link]:
    """Two from each switch."""
    return [
        Link(_switch(leaf, rail, 10 + n), End("spine", "c", 4 * leaf + 2 * rail + n, "switch"), NDR, "Active")
        for leaf in (0, 1) for rail in (0, 1) for n in (0, 1)
    ]  # fmt: skip


def _bad(links: Iterable[Link], hosts: list[HostFacts] | None = None, wanted: Rate = NDR) -> dict[str, Check]:
    checks = verify([*links], hosts or HOSTS, wanted)
    return {check.subject: check for check in checks if check.outcome is not Outcome.PASS}


def _told(bad: dict[str, Check]) -> dict[str, tuple[Outcome, str]]:
    return {subject: (check.outcome, check.found) for subject, check in bad.items()}


def test_all_that_is_right_passes() -> None:
    """One check for each rail, from whichever end the links are told."""
    links = [*_cables().values(), *_uplinks()]
    assert [check.outcome for check in verify(links, HOSTS, NDR)] == [Outcome.PASS] * 16
    turned = [replace(link, near=link.far, far=link.near) for link in links]
    assert _bad(turned) == {}


def test_a_rail_without_link_fails() -> None:
    """And no other."""
    cables = _cables()
    del cables[2, 1]
    assert _told(_bad(cables.values())) == {"h2 rail 1": (Outcome.FAIL, "no link")}


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [((0, 0), (1, 1), "rail 1 of leaf-0"), ((0, 0), (5, 0), "rail 0 of leaf-1"), ((3, 1), (6, 0), "rail 0 of leaf-1")],
    ids=["wrong rail", "wrong leaf", "both"],
)
def test_swapped_cables_are_both_named(one: tuple[int, int], other: tuple[int, int], place: str) -> None:
    """With what the switch is for, and with whom to swap."""
    cables = _cables()
    cables[one], cables[other] = (
        replace(cables[one], far=cables[other].far), replace(cables[other], far=cables[one].far),
    )  # fmt: skip
    names = [f"h{host} rail {rail}" for host, rail in (one, other)]
    bad = _bad(cables.values())
    assert set(bad) == set(names)
    first = bad[names[0]]
    assert (first.outcome, first.action) == (Outcome.FAIL, f"swap it with {names[1]}")
    assert f"which is for {place} (3 of 4 cables)" in first.found
    assert first.wanted == f"rail {one[1]} of leaf-{one[0] // 4}, on 'sw-{one[0] // 4}{one[1]}'"


def test_a_cable_in_a_switch_of_its_own_is_moved() -> None:
    """Alone there it has all of that switch's cables, and still most of its rail is elsewhere."""
    cables = _cables()
    cables[1, 0] = replace(cables[1, 0], far=End("spare", "ff", 1, "switch"))
    bad = _bad(cables.values())
    assert _told(bad) == {"h1 rail 0": (Outcome.FAIL, "on 'spare' port 1, and most of rail 0 of leaf-0 is not")}
    assert bad["h1 rail 0"].action == "move its cable"


def test_where_half_says_this_and_half_that_nothing_is_told() -> None:
    """Neither is taken for right."""
    cables = {key: link for key, link in _cables().items() if key in ((0, 0), (0, 1), (1, 0), (1, 1))}
    cables[0, 0], cables[0, 1] = (
        replace(cables[0, 0], far=cables[0, 1].far), replace(cables[0, 1], far=cables[0, 0].far),
    )  # fmt: skip
    bad = _bad(cables.values(), HOSTS[:2])
    assert {check.outcome for check in bad.values()} == {Outcome.UNKNOWN}
    assert len(bad) == 4


def test_a_switch_for_all_rails_is_judged_by_leaf() -> None:
    """Where each leaf has one switch, a cable on the other leaf's is wrong, and rails are not told."""
    cables = {
        (host, rail): replace(link, far=End(f"sw-{host // 4}", f"a{host // 4}", 2 * host + rail + 1, "switch"))
        for (host, rail), link in _cables().items()
    }
    assert _bad(cables.values()) == {}
    cables[0, 1] = replace(cables[0, 1], far=End("sw-1", "a1", 40, "switch"))
    bad = _bad(cables.values())
    assert set(bad) == {"h0 rail 1"}
    assert "which is for all rails of leaf-1" in bad["h0 rail 1"].found


@pytest.mark.parametrize(
    ("changed", "found", "outcome"),
    [
        ({"rate": Rate(4, "HDR")}, "slow: 4xHDR on 'sw-00' port 1", Outcome.FAIL),
        ({"rate": Rate(1, "NDR")}, "narrow: 1xNDR on 'sw-00' port 1", Outcome.FAIL),
        ({"rate": Rate(4, "99.9")}, "4x99.9, a rate that is not known", Outcome.UNKNOWN),
        ({"state": "Initialize"}, "Initialize on 'sw-00' port 1", Outcome.FAIL),
    ],
    ids=["slow", "narrow", "unknown", "no subnet manager"],
)
def test_a_link_that_is_not_as_it_should_be_is_told(changed: dict[str, object], found: str, outcome: Outcome) -> None:
    """With what it is, and where."""
    cables = _cables()
    cables[0, 0] = replace(cables[0, 0], **changed)  # type: ignore[arg-type]  # fields of a link
    assert _told(_bad(cables.values())) == {"h0 rail 0": (outcome, found)}


def test_without_a_rate_the_boards_counts() -> None:
    """H100 has 400 Gbit/s for each rail; a board that is not known is not judged by another's."""
    rails = tuple(Rail(f"ib{k}") for k in range(8))
    for board, outcome in {"hgx-h100": Outcome.PASS, "hgx-b300": Outcome.FAIL, "own": Outcome.UNKNOWN}.items():
        host = HostFacts("h0", "p", board, "infiniband", "leaf-0", rails=rails)
        links = [Link(End(f"h0 ib{k}", f"b{k}", 1, "host"), End(f"sw{k}", f"a{k}", 1, "switch"), NDR) for k in range(8)]
        assert {check.outcome for check in verify(links, [host])} == {outcome}


def test_hosts_that_are_cabled_to_each_other_are_told() -> None:
    """Both of them."""
    cables = _cables()
    del cables[1, 0]
    cables[0, 0] = replace(cables[0, 0], far=_nic(1, 0))
    assert _told(_bad(cables.values())) == {
        "h0 rail 0": (Outcome.FAIL, "cabled to 'h1 ibp27s0' port 1"),
        "h1 rail 0": (Outcome.FAIL, "cabled to 'h0 ibp27s0' port 1"),
    }


def test_a_device_of_no_known_rail_makes_its_hosts_rails_dark() -> None:
    """A number such as mlx5_3 says nothing of the rail, and no rail of the host is called absent for it."""
    cables = _cables()
    cables[0, 0] = replace(cables[0, 0], near=End("h0 mlx5_3", "b00", 1, "host"))
    assert _told(_bad(cables.values())) == {"h0 rail 0": (Outcome.UNKNOWN, "devices of unknown rail: h0 mlx5_3")}


def test_two_devices_of_one_name_are_told() -> None:
    """Nobody knows which is the right one."""
    cables = [*_cables().values(), Link(replace(_nic(0, 0), guid="dd"), _switch(0, 0, 9), NDR)]
    found = "two devices of this name, on 'sw-00' port 1 and 'sw-00' port 9"
    assert _told(_bad(cables)) == {"h0 rail 0": (Outcome.UNKNOWN, found)}


def test_a_stranger_is_told() -> None:
    """A host's device that no host of the inventory has."""
    links = [*_cables().values(), Link(End("x mlx5_0", "ee", 1, "host"), _switch(0, 0, 9), NDR)]
    assert _told(_bad(links)) == {"device 'x mlx5_0'": (Outcome.UNKNOWN, "of no host, on 'sw-00' port 9")}


def test_links_between_switches_are_held_against_the_others() -> None:
    """One that is slower than most, and a switch with fewer of them."""
    slow, _, *rest = _uplinks()
    links = [*_cables().values(), replace(slow, rate=Rate(4, "HDR")), *rest]
    assert _told(_bad(links)) == {
        "'sw-00' port 10 to 'spine' port 0": (Outcome.FAIL, "4xHDR"),
        "switch 'sw-00'": (Outcome.FAIL, "1 link to other switches"),
    }


def test_a_fabric_of_other_hosts_is_not_judged() -> None:
    """As hundreds of rails without link it would be a false alarm."""
    with pytest.raises(Unknown, match="none of them to one of 8 hosts"):
        verify(_uplinks(), HOSTS, NDR)


@pytest.mark.parametrize(
    ("pci", "name"),
    [("0000:1b:00.0", "ibp27s0"), ("0000:1b:00.1", "ibp27s0f1"), ("0000:1b:00.0", "ibp27s0f0"),
     ("0001:c3:01.0", "ibP1p195s1")],
)  # fmt: skip
def test_a_device_is_named_by_its_place_on_the_bus(pci: str, name: str) -> None:
    """As udev does it, in decimal."""
    assert name in device_names(Rail("ib0", pci))


def test_a_host_is_known_by_its_short_name_where_that_is_one_hosts() -> None:
    """Two of one short name are told apart by the whole name only."""
    rails = (Rail("ib0"),)
    first, second, third = (HostFacts(n, "p", "b", "infiniband", rails=rails) for n in ("a.x", "b.x", "b.y"))
    claims = Claims([first, second, third])
    assert [claim.host if (claim := claims.of(f"{name} ib0")) else None for name in ("a", "a.x", "b", "b.y", "")] == [
        first, first, None, third, None,
    ]  # fmt: skip
