"""What the tools print is read whole: outputs of rdma-core 44 on a small fabric, in each form."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import ConfigError, Unknown
from runbooks.lib.fabric import linkinfo, netdiscover
from runbooks.lib.fabric.links import Link, Rate, rate

DATA = Path(__file__).parent / "data"
READERS = {"ibnetdiscover.txt": netdiscover, "iblinkinfo.txt": linkinfo, "iblinkinfo-l.txt": linkinfo}

LINKS = {
    frozenset({("h0 ibp16s0", 1), ("leaf-0 rail 0", 1)}): "4xHDR",
    frozenset({("h1 ibp16s0", 1), ("leaf-0 rail 0", 2)}): "1xHDR",
    frozenset({("h0 ibp17s0", 1), ("leaf-0 rail 1", 1)}): "4xHDR",
    frozenset({("h1 ibp17s0", 1), ("leaf-0 rail 1", 2)}): "4xQDR",
    frozenset({("leaf-0 rail 0", 5), ("spine 0", 1)}): "4xHDR",
    frozenset({("leaf-0 rail 1", 5), ("spine 0", 2)}): "4xHDR",
}
"""Ends of each link → its rate."""


def _links(file: str) -> tuple[Link, ...]:
    found: tuple[Link, ...] = READERS[file].links((DATA / file).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("file", READERS)
def test_every_link_is_read_once_with_its_rate(file: str) -> None:
    """Ports that are down are none; both ends of a link are one."""
    found = _links(file)
    assert len(found) == len(LINKS)
    assert {
        frozenset({(link.near.name, link.near.port), (link.far.name, link.far.port)}): str(link.rate) for link in found
    } == LINKS


@pytest.mark.parametrize("file", READERS)
def test_each_node_is_one_at_all_of_its_links(file: str) -> None:
    """By its GUID, at whichever end of a link it stands."""
    nodes = {end.name: set[str]() for link in _links(file) for end in (link.near, link.far)}
    for link in _links(file):
        for end in (link.near, link.far):
            nodes[end.name].add(end.node)
    assert {name: len(found) for name, found in nodes.items()} == dict.fromkeys(nodes, 1)
    assert nodes["spine 0"] == {"200002"}


@pytest.mark.parametrize("file", ["ibnetdiscover.txt", "iblinkinfo.txt"])
def test_switches_and_hosts_are_told_apart(file: str) -> None:
    """Where the tool says which is which."""
    kinds = {end.name: end.kind for link in _links(file) for end in (link.near, link.far)}
    assert {kinds["leaf-0 rail 0"], kinds["spine 0"]} == {"switch"}
    assert kinds["h0 ibp16s0"] == "host"


@pytest.mark.parametrize("file", READERS)
def test_only_its_own_reader_takes_an_output(file: str) -> None:
    """So that the kind of a file need not be said."""
    text = (DATA / file).read_text(encoding="utf-8")
    takes = [reader for reader in (netdiscover, linkinfo) if reader.is_one(text)]
    assert takes == [READERS[file]]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("ibnetdiscover.txt", "lid 6 4xHDR", "lid 6"),
        ("iblinkinfo.txt", "==( 4X        53.125 Gbps", "==( 4X"),
        ("iblinkinfo-l.txt", ')==>  0x0000000000200001      3    2[  ] "leaf-0 rail 1"', ")==>"),
    ],
)
def test_a_row_that_is_cut_off_is_told(file: str, before: str, after: str) -> None:
    """A link that was left out would look like one that is down."""
    text = (DATA / file).read_text(encoding="utf-8")
    assert before in text
    with pytest.raises(Unknown, match="a row cannot be read"):
        READERS[file].links(text.replace(before, after))


def test_a_port_that_no_subnet_manager_has_set_up_is_told() -> None:
    """Its link is there, in state Initialize."""
    text = (DATA / "iblinkinfo.txt").read_text(encoding="utf-8").replace("Active/  LinkUp", "Initialize/  LinkUp")
    assert {link.state for link in linkinfo.links(text)} == {"Initialize"}


@pytest.mark.parametrize(
    ("printed", "name"),
    [("106.25 Gbps", "4xNDR"), ("212.5 Gbps", "4xXDR"), ("10.0 Gbps (FDR10)", "4xFDR10"), ("99.9 Gbps", "4x99.9")],
)
def test_every_speed_has_its_name(printed: str, name: str) -> None:
    """One that nobody knows stays as it was printed, and is never judged."""
    row = f'           3    1[  ] ==( 4X  {printed} Active/  LinkUp)==>       6    1[  ] "h0 ibp17s0" ( )\n'
    (link,) = linkinfo.links(f"Switch: 0x0000000000200001 leaf-0 rail 1:\n{row}")
    assert (str(link.rate), link.rate.gbit > 0) == (name, name != "4x99.9")


def test_a_rate_is_read_as_people_write_it() -> None:
    """And refused with what there is."""
    assert rate("4xndr") == Rate(4, "NDR")
    assert (rate("4xNDR").gbit, rate("4xXDR").gbit) == (400, 800)
    with pytest.raises(ConfigError, match="write it like 4xNDR: SDR"):
        rate("400G")
