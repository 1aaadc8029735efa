"""Judge what nccl-tests printed, and name what is at fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.catalog.acceptance import HALF, LEAST_BYTES, NVLS_TREE, Floor
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance.nccl_output import NcclRun, Try, alone, parse
from runbooks.lib.acceptance.verdict import NO_FIGURE, Cause, Sign, Verdict, judged, signs

SIGNS = (
    Sign(r"ACS is enabled|status=(?:IBV_WC_LOC_PROT_ERR|4\b)", "ACS is on",
         "turn ACS off on every bridge between GPUs and NICs, at each boot (role pcie)"),
    Sign(r"[Ii]bv_reg_mr\w* failed.*Cannot allocate memory|ibv_reg_mr.*error Cannot allocate", "memlock is too small",
         "give the container's runtime LimitMEMLOCK=infinity (role container_runtime)"),
    Sign(r"IBV_WC_LOC_LEN_ERR|with status=1\b|local length error", "MTUs differ",
         "set one MTU on every rail and switch port (role rdma)"),
    Sign(r"ibv_modify_qp failed with (?:error |110).*Connection timed out|ibv_modify_qp failed with 110",
         "rails do not reach each other", "see GID index, routes by rail and ARP settings (role rdma)"),
    Sign(r"IBV_WC_RETRY_EXC_ERR|with status=12\b|transport retry counter exceeded", "packets are lost",
         "see the link's errors, PFC and ECN on hosts and switches, and the cable (role rdma)"),
    Sign(r"system not yet initialized|CUDA error 802", "the NVLink fabric is not up",
         "see fabric manager of exactly the driver's version, and nvlsm before it (role nvidia_driver)"),
    Sign(r"Duplicate GPU detected", "wrong launch", "start one rank for each GPU: mpirun --map-by ppr:8:node, -g 1"),
    Sign(r"NET/IB : No device found|[Uu]sing network Socket", "RDMA is not used",
         "give the container its RDMA devices, and see that rdma-core and NCCL_IB_HCA fit"),
)  # fmt: skip
"""Lines that name a fault. Source: NCCL user guide, troubleshooting; net_ib/common.h; nccl#1524, #1269, #2013."""


def judge(text: str, floor: Floor | None, fabric: str) -> Verdict:
    """Judge one output; of several tries the best counts, for the first run after a start is often slow.

    Args:
        floor: figures of the board; None: nobody knows them, and a figure is told and not judged.
        fabric: fabric of the pool.
    Source: Azure/azurehpc#628 for the tries.
    """
    run = parse(text)
    tries = [one for one in run.tries if one.rows]
    if not tries:
        causes = tuple(signs(text, SIGNS))
        return Verdict(run.test, Outcome.FAIL if causes else Outcome.UNKNOWN, "no result", "a table of results", causes)
    best = max(tries, key=lambda one: one.busbw_gb_s(LEAST_BYTES) or 0.0)
    where = f"{run.test} on {len(best.hosts)} host{'s' if len(best.hosts) > 1 else ''}, {len(best.ranks)} ranks"
    least = _wanted(run, best, floor)
    wanted = f"at least {least:g} GB/s, all values right" if least else NO_FIGURE
    damage = tuple(_damage(tries))
    launch = tuple(_launch(run, best, floor))
    mean = best.busbw_gb_s(LEAST_BYTES)
    if damage or launch:
        return Verdict(where, Outcome.FAIL, f"{mean or 0:.1f} GB/s", wanted, (*damage, *launch))
    if mean is None or best.bounds is None:
        largest = max(row.size for row in best.rows)
        found = f"messages up to {largest} bytes" if mean is None else "no end of the test"
        return Verdict(where, Outcome.UNKNOWN, found, "-b 1G -e 16G, to its end", tuple(signs(text, SIGNS)))
    outcome = judged(mean, least)
    causes = tuple(_causes(text, run, best, floor, fabric, mean / least)) if least and outcome is Outcome.FAIL else ()
    return Verdict(where, outcome, f"{mean:.1f} GB/s", wanted, causes, mean)


def _wanted(run: NcclRun, one: Try, floor: Floor | None) -> float | None:
    if floor is None:
        return None
    is_reduced = run.test.startswith(("all_reduce_perf", "nccl-tests"))
    if len(one.hosts) <= 1:
        return floor.one_host_gb_s if is_reduced else None
    # A send has one NIC to go by, and so has each of several jobs beside each other with one rank on a host.
    nics = 1 if run.is_send else one.nics
    if nics < floor.gpus or run.is_ring:
        return floor.wire_gb_s(nics)
    return floor.hosts_gb_s if is_reduced else None


def _damage(tries: list[Try]) -> Iterator[Cause]:
    wrong = sum(row.wrong for one in tries for row in one.rows)
    if wrong or any(one.bounds is False for one in tries):
        fix = "take the host out; see memory errors, Xids and ACS, for data that is wrong is worse than slow"
        yield Cause("values are wrong", f"{wrong} wrong values, out of bounds", fix)


def _launch(run: NcclRun, best: Try, floor: Floor | None) -> Iterator[Cause]:
    """Ranks that do not make the one job that was meant."""
    fix = "start all ranks as one job: mpirun with the test built for MPI, one rank for each GPU, -g 1"
    if (count := alone(run.tries)) > 1:
        yield Cause("wrong launch", f"{count} ranks each ran alone, as number 0 of their own", fix)
        return
    twice = [place for place, n in Counter((rank.host, rank.device) for rank in best.ranks).items() if n > 1]
    if twice:
        yield Cause("wrong launch", f"GPU {twice[0][1]} of {twice[0][0]} has several ranks", fix)
        return
    counts = Counter(rank.host for rank in best.ranks)
    few = {host: count for host, count in counts.items() if floor is not None and count != floor.gpus}
    if few and floor is not None:
        host, count = min(few.items())
        yield Cause("wrong launch", f"{host} has {count} ranks, its board {floor.gpus} GPUs", fix)


def _causes(text: str, run: NcclRun, best: Try, floor: Floor | None, fabric: str, share: float) -> Iterator[Cause]:
    """Why it is slow, most certain first."""
    found = list(signs(text, SIGNS))
    if len(best.hosts) > 1 and floor is not None:
        found += [*_paths(run, best, floor, fabric)]
        most, since = NVLS_TREE
        if floor.board == "hgx-b300" and len(best.hosts) >= most and run.version and run.version < since:
            said = f"{'.'.join(map(str, run.version))} over {len(best.hosts)} hosts of B300"
            found.append(Cause("NCCL is too old", said, f"use {'.'.join(map(str, since))}"))
    yield from found
    if found:
        return
    if not run.channels and not run.hcas:
        yield Cause("nothing is told", "no lines of NCCL", "run it again with NCCL_DEBUG=INFO")
    elif HALF[0] <= share <= HALF[1]:
        fix = "see lspci -vvv for ACSCtl: SrcValid+ and the kernel's command line for iommu=pt (role pcie)"
        yield Cause("ACS or IOMMU in the way", f"{share:.0%} of what is wanted, over all rails and with GPUDirect", fix)


def _paths(run: NcclRun, best: Try, floor: Floor, fabric: str) -> Iterator[Cause]:
    """Which NICs carry the traffic, and how."""
    ports = floor.ports(fabric)
    for host, names in run.hcas.items():
        if len(names) < ports:
            said = f"{host} uses {', '.join(names) or 'none'}: {len(names)} of {ports} ports"
            yield Cause("one rail" if len(names) == 1 else "rails are missing", said,
                        "see NCCL_IB_HCA and the ports' state; name the ports exactly, =mlx5_0,…")  # fmt: skip
            break
    if len(set(run.hcas.values())) > 1:
        said = "; ".join(f"{host}: {', '.join(names)}" for host, names in list(run.hcas.items())[:2])
        yield Cause("NICs have other names on other hosts", said, "name them alike by udev (nccl#1277)")
    used = {channel.device for channel in run.channels if channel.net == "IB"}
    # Of a chain of sends only the link between two hosts leaves a host.
    meant = min(floor.rails, best.jobs) if run.is_send else floor.rails
    if used and len(used) < meant and not any(len(names) < ports for names in run.hcas.values()):
        name = "one rail" if len(used) == 1 else "rails are missing"
        yield Cause(name, f"{len(used)} of {meant} NICs carry traffic", "see NCCL_CROSS_NIC and the topology")
    direct = [channel for channel in run.channels if channel.net == "IB" and channel.is_direct]
    if run.indirect or (used and not direct):
        off = ", ".join(run.indirect) or "no connection is GDRDMA"
        yield Cause("GPUDirect RDMA is off", off,
                    "load nvidia-peermem after OFED, or use DMA-BUF with the open driver (role rdma)")  # fmt: skip
