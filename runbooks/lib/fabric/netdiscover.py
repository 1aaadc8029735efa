"""Read what ``ibnetdiscover`` printed. Source: rdma-core, ibnetdiscover(8), TOPOLOGY FILE FORMAT."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from infra.errors import Unknown
from runbooks.lib.fabric.links import End, Link, Rate

_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"\w-(\w+)"\s*#\s*"(.*?)"')
_PORT = re.compile(r'\[(\d+)\](?:\(\w+\))?\s+"(\w)-(\w+)"\[(\d+)\](?:\(\w+\))?\s*#.*?"(.*?)" lid \d+ (\d+)x(\w+)')

KINDS: dict[str, Literal["switch", "host", ""]] = {"Switch": "switch", "S": "switch", "Ca": "host", "H": "host"}
"""How the tool marks switches and hosts; routers are neither."""


def is_one(text: str) -> bool:
    """Whether it looks like such an output."""
    return _NODE.search(text) is not None


def links(text: str) -> tuple[Link, ...]:
    """Every link once.

    Raises:
        Unknown: a row cannot be read, so that a link would be missing.
    """
    found: dict[frozenset[tuple[str, int]], Link] = {}
    for link in _each(text):
        found.setdefault(frozenset({(link.near.node, link.near.port), (link.far.node, link.far.port)}), link)
    return tuple(found.values())


def _each(text: str) -> Iterator[Link]:
    kind, guid, name = "", "", ""
    for line in text.splitlines():
        if node := _NODE.match(line):
            kind, guid, name = node[1], node[2].lstrip("0"), node[3]
        elif line.startswith("["):
            port = _PORT.match(line)
            if port is None or not name:
                raise Unknown(f"ibnetdiscover — a row cannot be read: {line.strip()[:120]!r} — print it anew, whole")
            far = End(port[5], port[3].lstrip("0"), int(port[4]), KINDS.get(port[2], ""))
            yield Link(End(name, guid, int(port[1]), KINDS.get(kind, "")), far, Rate(int(port[6]), port[7]))
