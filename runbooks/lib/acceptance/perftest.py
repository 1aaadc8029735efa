"""Judge what ib_write_bw and ib_write_lat printed, one verdict for each test in the output.

Source: linux-rdma/perftest, src/perftest_parameters.c: RESULT_FMT and its like; 1 MiB/s and the older MB/sec are 2^20.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalog.acceptance import HALF, Floor
from infra.plan.hosts import Outcome
from infra.units import MIB
from runbooks.lib.acceptance.verdict import NO_FIGURE, Cause, Sign, Verdict, judged, signs

SIGNS = (
    Sign(r"Couldn't allocate MR|[Ff]ailed to create MR|ibv_reg_(?:dmabuf_)?mr failed", "memory cannot be registered",
         "with --use_cuda: load nvidia-peermem after OFED, or use DMA-BUF; without: memlock is too small"),
    Sign(r"Failed status 12|transport retry counter exceeded", "packets are lost",
         "see route by rail, VLAN, PFC and the cable"),
    Sign(r"Failed to modify QP|Unable to Connect the HCA's through the link", "the ports do not reach each other",
         "see GID index (-x), routes and the subnet manager"),
    Sign(r"Couldn't connect to|Unable to open file descriptor for socket|Unable to init the socket",
         "no peer answers", "start the same command without a peer on the other host first"),
    Sign(r"IB device .* not found|Unable to find the Infiniband/RoCE device", "there is no such device",
         "see ibv_devinfo -l and role rdma"),
)  # fmt: skip
"""Lines that name a fault. Source: linux-rdma/perftest, src/perftest_resources.c and perftest_communication.c."""

FULL_MTU = 4096
"""MTU that every rail has (bytes). Source: NVIDIA/nccl PR 2135; OKE sriov-network.yaml."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One test."""

    test: str
    device: str
    mtu: int
    """0: not told."""
    on_gpu: bool
    """Whether the memory of a GPU was at this end."""
    gbit: float | None = None
    """Mean of the largest message (Gbit/s)."""
    us: float | None = None
    """Mean latency of the smallest message (µs)."""


def parse(text: str) -> Iterator[Measured]:
    """Read each test of an output that came to a result."""
    for block in re.split(r"^(?=[ \t]+RDMA_\w+ .*Test[ \t]*$)", text, flags=re.MULTILINE)[1:]:
        head = re.match(r"\s+(RDMA_\w+ .*Test)\s*\n", block)
        device, mtu = (re.search(pattern, block) for pattern in (r"\bDevice\s+:\s+(\S+)", r"\bMtu\s+:\s+(\d+)"))
        rows = [line.split() for line in block.splitlines() if re.match(r"\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+", line)]
        if head is None or not rows:
            continue
        unit = re.search(r"BW average\[(\S+)\]", block)
        yield Measured(
            head[1],
            device[1] if device else "",
            int(mtu[1]) if mtu else 0,
            bool(re.search(r"(?:CUDA|GPU) (?:buffer|device)|cuda|CUDA Ctx", text)),
            gbit=float(rows[-1][3]) * _GBIT[unit[1]] if unit else None,
            us=None if unit else float(rows[0][5]),
        )


_GBIT = {"Gb/sec": 1.0, "MiB/sec": MIB * 8 / 1e9, "MB/sec": MIB * 8 / 1e9}


def judge(text: str, floor: Floor | None, fabric: str) -> tuple[Verdict, ...]:
    """Judge every test of one output.

    Args:
        floor: figures of the board; None: nobody knows them, and a figure is told and not judged.
        fabric: fabric of the pool.
    """
    found = tuple(_judged(one, floor, fabric) for one in parse(text))
    causes = tuple(signs(text, SIGNS))
    if causes or not found:
        outcome = Outcome.FAIL if causes else Outcome.UNKNOWN
        return (*found, Verdict("perftest", outcome, "no result", "a row of results", causes))
    return found


def _judged(one: Measured, floor: Floor | None, fabric: str) -> Verdict:
    test = f"{one.test} of {one.device or 'a device'}"
    if one.gbit is None:
        most = floor.write_us if floor else None
        outcome = judged(one.us or 0.0, most, most=True)
        late = (_LATE,) if outcome is Outcome.FAIL else ()
        return Verdict(test, outcome, f"{one.us:.2f} µs", f"at most {most:g} µs" if most else NO_FIGURE, late)
    ways = 2 if "Bidirectional" in one.test else 1
    least = floor.port_floor_gbit(fabric) * ways if floor else None
    outcome = judged(one.gbit, least)
    causes = tuple(_slow(one, one.gbit / least)) if least and outcome is Outcome.FAIL else ()
    wanted = f"at least {least:g} Gbit/s" if least else NO_FIGURE
    return Verdict(test, outcome, f"{one.gbit:.1f} Gbit/s", wanted, causes, one.gbit)


_LATE = Cause(
    "replies are late", "mean latency", "see C-states and governor (role cpu), hops between the hosts, and load"
)


def _slow(one: Measured, share: float) -> Iterator[Cause]:
    if one.mtu and one.mtu < FULL_MTU:
        yield Cause("the MTU is small", f"{one.mtu} bytes", "set the interface to 4200 or more, so that RDMA has 4096")
    elif HALF[0] <= share <= HALF[1] and one.on_gpu:
        fix = "see lspci -vvv for ACSCtl: SrcValid+ between GPU and NIC; measure without --use_cuda to be sure"
        yield Cause("ACS or IOMMU in the way", f"{share:.0%} of what is wanted, in the memory of a GPU", fix)
    elif HALF[0] <= share <= HALF[1]:
        fix = "see LnkSta against LnkCap and MaxReadReq of the NIC in lspci -vvv (role pcie)"
        yield Cause("the NIC's PCIe link is narrow", f"{share:.0%} of what is wanted, in host memory", fix)
