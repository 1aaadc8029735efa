"""Read what ``iblinkinfo`` printed, by node or with a link on each line (``-l``). Source: rdma-core, iblinkinfo(8)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from infra.errors import Unknown
from runbooks.lib.fabric.links import PRINTED, End, Link, Rate

_HEAD = re.compile(r"(CA|Switch|Router): (?:0x([0-9a-fA-F]+) )?(.*?):?\s*$")
_ROW = re.compile(
    r'\s*(?:0x(?P<guid>[0-9a-fA-F]+)\s+)?(?:"\s*(?P<name>[^"]*)"\s+)?(?P<lid>\d+)\s+(?P<port>\d+)\[.*?\]\s+==\((?P<said>.*?)\)==>'
    r'\s+(?:0x(?P<far_guid>[0-9a-fA-F]+)\s+)?(?:(?P<far_lid>\d+)\s+(?P<far_port>\d+))?\s*\[.*?\]\s+"(?P<far_name>[^"]*)"'
)
_SAID = re.compile(r"(?:(\d+)X\s+([\d.]+) Gbps(?: \((\w+)\))?)?\s*(\w+)/\s*(\w+)")

KINDS: dict[str, Literal["switch", "host", ""]] = {"Switch": "switch", "CA": "host"}
"""How the tool marks switches and hosts."""


@dataclass(frozen=True, slots=True)
class _Row:
    link: Link
    lid: str
    far_lid: str


def is_one(text: str) -> bool:
    """Whether it looks like such an output."""
    return re.search(r"\]\s+==\(.*\)==>", text) is not None


def links(text: str) -> tuple[Link, ...]:
    """Every link once; ports without a link are left out.

    Raises:
        Unknown: a row cannot be read, so that a link would be missing.
    """
    rows = list(_rows(text))
    # A line says the GUID of its own node only; of the other end it says the LID, which is that node's elsewhere.
    known = {row.lid: row.link.near for row in rows if row.lid != "0"}
    found: dict[frozenset[tuple[str, int]], Link] = {}
    for row in rows:
        near, far = row.link.near, row.link.far
        other = known.get(row.far_lid)
        if other is not None and other.name == far.name:
            far = replace(far, guid=other.guid, kind=other.kind)
        ends = frozenset({(near.node, near.port), (far.node, far.port)})
        found.setdefault(ends, replace(row.link, far=far))
    return tuple(found.values())


def _rows(text: str) -> Iterator[_Row]:
    kind, guid, name = "", "", ""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            kind, guid, name = head[1], (head[2] or "").lstrip("0"), head[3]
        elif "==(" in line:
            match = _ROW.match(line)
            said = _SAID.fullmatch(match["said"].strip()) if match else None
            if match is None or said is None:
                raise Unknown(f"iblinkinfo — a row cannot be read: {line.strip()[:120]!r} — print it anew, whole")
            if said[1] is None or match["far_port"] is None:
                continue
            own = (match["guid"] or "").lstrip("0") or guid
            near = End(match["name"] or name, own, int(match["port"]), KINDS.get(kind, ""))
            far = End(match["far_name"], (match["far_guid"] or "").lstrip("0"), int(match["far_port"]), "")
            rate = Rate(int(said[1]), said[3] or PRINTED.get(said[2], said[2]))
            yield _Row(Link(near, far, rate, said[4]), match["lid"], match["far_lid"])
