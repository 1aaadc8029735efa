"""What nccl-tests print, and what NCCL itself tells with NCCL_DEBUG=INFO, as data.

Source: NVIDIA/nccl-tests 2.10 to 2.17, src/common.cu; NVIDIA/nccl src/transport/net_ib and src/graph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """One size of message."""

    size: int
    """Bytes of one message."""
    busbw_gb_s: float
    """Mean of out of place and in place (GB/s)."""
    wrong: int
    """Values that came out wrong (count); 0 where the test did not look."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: a GPU that took part."""

    number: int
    host: str
    device: int
    """Number of the GPU on its host."""
    group: int = 0
    """Number of the job that it is part of, where one run makes several at once."""


@dataclass(slots=True)
class Try:
    """One table of results with the ranks before it."""

    ranks: list[Rank] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    bounds: bool | None = None
    """Whether all values were right; None: it did not come to its end."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that took part, each once."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def jobs(self) -> int:
        """Jobs that ran beside each other (count)."""
        return len({rank.group for rank in self.ranks})

    @property
    def nics(self) -> int:
        """NICs of a host that one job can use: one for each of its ranks there (count)."""
        return max(Counter((rank.group, rank.host) for rank in self.ranks).values(), default=0)

    def busbw_gb_s(self, least: int) -> float | None:
        """Mean bus bandwidth of messages from so many bytes on (GB/s); None: there were none."""
        found = [row.busbw_gb_s for row in self.rows if row.size >= least]
        return sum(found) / len(found) if found else None


@dataclass(frozen=True, slots=True)
class Channel:
    """One connection over the network, as NCCL tells it."""

    net: str
    """``IB``, ``Socket``, or the name of a plugin."""
    device: int
    is_direct: bool
    """Whether the NIC reads and writes the memory of GPUs."""


@dataclass(frozen=True, slots=True)
class NcclRun:
    """Everything that one output says."""

    test: str
    tries: tuple[Try, ...]
    version: tuple[int, ...]
    """Of NCCL; empty: not told."""
    hcas: Mapping[str, tuple[str, ...]]
    """Host → RDMA ports that NCCL uses there; empty: not told."""
    channels: tuple[Channel, ...]
    indirect: tuple[str, ...]
    """RDMA devices for which NCCL says that GPUDirect is off."""
    is_ring: bool
    """Whether rings were asked for."""

    @property
    def is_send(self) -> bool:
        """Whether each rank sends to the next one and nothing is gathered."""
        return self.test.startswith("sendrecv_perf")


def parse(text: str) -> NcclRun:
    """Read an output, with or without the tags that launchers put before lines."""
    lines = [re.sub(r"^(?:\[[\d,]+\]<std\w+>:?|\s*\d+: )", "", line) for line in text.splitlines()]
    plain = "\n".join(lines)
    test = re.search(r"Collective test starting: (\w+)|\b(\w+_perf)\b", plain)
    return NcclRun(
        test=(test[1] or test[2]) if test else "nccl-tests",
        tries=tuple(_tries(lines)),
        version=_version(plain),
        hcas=dict(_hcas(plain)),
        channels=tuple(
            Channel(match[1], int(match[2]), "GDRDMA" in match[3])
            for match in re.finditer(r" via NET/([^/\n]+)/(\d+)(?:\(\d+\))?((?:/\w+)*)", plain)
        ),
        indirect=tuple(dict.fromkeys(re.findall(r"NET/IB\S* : GPU Direct RDMA Disabled for HCA \d+ '([^']+)'", plain))),
        is_ring=bool(re.search(r"NCCL_ALGO set by environment to [Rr]ing", plain)),
    )


def _tries(lines: list[str]) -> Iterator[Try]:
    """A new one begins with the list of devices, or with a rank behind results."""
    now = Try()
    for line in lines:
        begins = line.startswith("# Using devices")
        rank = re.match(r"#\s+Rank\s+(\d+) (?:Group\s+(\d+) )?.*? on\s+(\S+) device\s+(\d+)", line)
        if begins or (rank and now.rows):
            if now.ranks:
                yield now
            now = Try()
        if rank:
            now.ranks.append(Rank(int(rank[1]), rank[3], int(rank[4]), int(rank[2] or 0)))
        elif bounds := re.match(r"# Out of bounds values : (\d+) (\w+)", line):
            now.bounds = bounds[1] == "0" and bounds[2] == "OK"
        elif row := _row(line):
            now.rows.append(row)
    if now.ranks or now.rows:
        yield now


def _row(line: str) -> Row | None:
    """A row: size and count first, then twice time, algbw, busbw and what is wrong."""
    words = line.split()
    if len(words) < 12 or not (words[0].isdigit() and words[1].isdigit()):
        return None
    try:
        out, within = float(words[-6]), float(words[-2])
        wrong = sum(int(word) for word in (words[-5], words[-1]) if word.isdigit())
    except ValueError:
        return None
    return Row(int(words[0]), (out + within) / 2, wrong)


def _version(text: str) -> tuple[int, ...]:
    if match := re.search(r"NCCL version (\d+)\.(\d+)\.(\d+)", text):
        return tuple(map(int, match.groups()))
    if match := re.search(r"nccl-library=(\d+)", text):
        return int(match[1]) // 10_000, int(match[1]) // 100 % 100, int(match[1]) % 100
    return ()


def _hcas(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for match in re.finditer(r"^(\S+?):\d+:\d+ .*NET/IB : Using (.*)$", text, re.MULTILINE):
        yield match[1], tuple(dict.fromkeys(re.findall(r"\[\d+\](\w+:\d+)/", match[2])))


def alone(tries: tuple[Try, ...]) -> int:
    """How many ranks ran by themselves, each the first of its own job (count)."""
    return sum([rank.number for rank in one.ranks] == [0] for one in tries)
