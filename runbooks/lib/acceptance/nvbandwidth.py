"""Judge what nvbandwidth printed, as text or as JSON.

Source: NVIDIA/nvbandwidth 0.5 to 0.10, output.cpp and json_output.cpp.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalog.acceptance import EVEN_SHARE, Floor
from infra.errors import Unknown
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance.verdict import NO_FIGURE, Cause, Sign, Verdict, judged, signs

SIGNS = (
    Sign(r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY", "the NVLink fabric is not up",
         "see fabric manager of exactly the driver's version, and nvlsm before it (role nvidia_driver)"),
    Sign(r"\[?CUDA_ERROR\w*|^ERROR", "the test broke off", "see the kernel's log for Xids"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """One test: bandwidth by row and column; None where there is no such pair."""

    test: str
    rows: tuple[tuple[float | None, ...], ...]
    state: str
    """``Passed``, or why there is no table: ``Waived``, ``Error``, ``Not Found``."""

    @property
    def is_peer(self) -> bool:
        """Whether both ends are GPUs."""
        return self.test.startswith("device_to_device")

    @property
    def gpus(self) -> int:
        """GPUs that it saw (count)."""
        return len(self.rows[0]) if self.rows else 0

    @property
    def by_gpu(self) -> dict[int, list[float]]:
        """Bandwidths of each GPU, with every other end (GB/s)."""
        columns = {gpu: [row[gpu] for row in self.rows if gpu < len(row)] for gpu in range(self.gpus)}
        known = {gpu: [value for value in values if value is not None] for gpu, values in columns.items()}
        return {gpu: values for gpu, values in known.items() if values}


def parse(text: str) -> Iterator[Table]:
    """Read each test of an output."""
    if text.lstrip().startswith("{"):
        yield from _of_json(text)
        return
    for block in re.split(r"^(?=[Rr]unning \w+)", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"[Rr]unning (\w+)", block)
        state = "Waived" if re.search(r"^\s*Waived", block, re.MULTILINE) else "Error"
        rows = tuple(
            tuple(_number(word) for word in line.split()[1:])
            for line in block.split("\nSUM")[0].splitlines()
            if re.match(r"\s*\d+\s+(?:\d+\.\d|N/A)", line)
        )
        if name:
            yield Table(name[1], rows, "Passed" if rows else state)


def judge(text: str, floor: Floor | None) -> tuple[Verdict, ...]:
    """Judge every test of one output.

    Args:
        floor: figures of the board; None: nobody knows them, and only what stands out on the host is judged.
    """
    try:
        tables = list(parse(text))
    except Unknown as error:
        return (Verdict("nvbandwidth", Outcome.UNKNOWN, str(error), "its output"),)
    causes = tuple(signs(text, SIGNS))
    if not tables or causes:
        outcome = Outcome.FAIL if causes else Outcome.UNKNOWN
        return (Verdict("nvbandwidth", outcome, "no result", "tables of bandwidth", causes),)
    return tuple(_judged(table, floor) for table in tables)


def _judged(table: Table, floor: Floor | None) -> Verdict:
    test = f"nvbandwidth {table.test}"
    if not table.by_gpu:
        return Verdict(test, Outcome.UNKNOWN, table.state, "a table of bandwidth")
    if floor and table.gpus != floor.gpus:
        cause = Cause("GPUs are missing", f"{table.gpus} GPUs", "see nvidia-smi -L, lspci and Xid 79 in the log")
        return Verdict(test, Outcome.FAIL, f"{table.gpus} GPUs", f"{floor.gpus} GPUs", (cause,))
    least = (floor.peer_gb_s if table.is_peer else floor.host_gb_s) if floor else None
    ways = 2 if "bidirectional" in table.test else 1
    least = least * ways if least else None
    worst, slowest = min((min(values), gpu) for gpu, values in table.by_gpu.items())
    found = f"{worst:.1f} GB/s at GPU {slowest}"
    unlike = _unlike(table)
    outcome = Outcome.FAIL if unlike else judged(worst, least)
    wanted = f"at least {least:g} GB/s" if least else NO_FIGURE
    causes = tuple(_causes(table, unlike)) if outcome is Outcome.FAIL else ()
    return Verdict(test, outcome, found, wanted, causes, worst)


def _unlike(table: Table) -> dict[int, float]:
    """GPUs that stand out from the others of the host; an absolute figure alone does not see one.

    One slow GPU makes one slow pair of each other one, so that of many pairs the middle one counts.
    """
    middles = {gpu: statistics.median(values) for gpu, values in table.by_gpu.items()}
    usual = statistics.median(middles.values())
    return {gpu: value for gpu, value in middles.items() if value < EVEN_SHARE * usual}


def _causes(table: Table, unlike: dict[int, float]) -> Iterator[Cause]:
    if unlike:
        names = ", ".join(f"GPU {gpu} {value:.1f} GB/s" for gpu, value in unlike.items())
        if table.is_peer:
            yield Cause("NVLink of a GPU is slow", names, "see nvidia-smi nvlink -s and -e, and Xid 74 or 144 to 150")
        else:
            yield Cause("the PCIe link of a GPU is slow", names, "see LnkSta against LnkCap in lspci -vvv, under load")
    elif table.is_peer:
        yield Cause("NVLink is not used", "all GPUs alike", "see fabric manager, and nvidia-smi topo -m for NV18")
    else:
        fix = "see NUMA node of the test, iommu=pt, NPS and C-states, and that nothing else uses the GPUs"
        yield Cause("the host is slow", "all GPUs alike", fix)


def _of_json(text: str) -> Iterator[Table]:
    try:
        said = json.loads(text)["nvbandwidth"]
        for case in said.get("testcases", []):
            matrix = case.get("bandwidth_matrix") or []
            rows = tuple(tuple(_number(str(word)) for word in row) for row in matrix)
            yield Table(case["name"], rows, case["status"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unknown(f"no JSON of nvbandwidth ({error})") from None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
