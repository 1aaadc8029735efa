"""Faults that a simulated host is told to have: annotations and one label on its Node, read back as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PREFIX = "signal.lab.railwright.dev/"
"""Start of each annotation that stands for a fault; who set it takes it back by removing it."""

NOT_READY = "node-not-ready.stage.kwok.x-k8s.io"
"""Label on which KWOK plays a host that is gone. Source: kwok's stage node/chaos/node-not-ready."""

_INDEXES = re.compile(r"\d+(,\d+)*")
_VALUES = re.compile(r"\d+:\d+(\.\d+)?(,\d+:\d+(\.\d+)?)*")


@dataclass(frozen=True)
class Signals:
    """What is wrong with one simulated host; nothing, unless told.

    Numbers count from 0: GPUs as DCGM has them, NICs by rail.
    """

    is_gone: bool = False
    """Nothing answers from it any more, its exporters neither."""
    gpu_lost: frozenset[int] = frozenset()
    """GPUs that fell off the bus: no series, not allocatable."""
    nic_down: frozenset[int] = frozenset()
    xid: dict[int, float] = field(default_factory=dict)
    """Last Xid code by GPU."""
    gpu_temperature: dict[int, float] = field(default_factory=dict)
    """Degrees Celsius by GPU."""
    gpu_power: dict[int, float] = field(default_factory=dict)
    """Watts by GPU."""
    gpu_util: dict[int, float] = field(default_factory=dict)
    """Per cent by GPU."""
    ecc: dict[int, float] = field(default_factory=dict)
    """Uncorrectable memory errors by GPU (count)."""
    row_remap_failed: dict[int, float] = field(default_factory=dict)
    """1 for a GPU that could not set a bad row aside."""
    nvlink_errors: dict[int, float] = field(default_factory=dict)
    """NVLink replay errors by GPU (count)."""
    nic_flaps: dict[int, float] = field(default_factory=dict)
    """Times that a NIC's link went down (count)."""
    nic_errors: dict[int, float] = field(default_factory=dict)
    """Symbol errors by NIC (count)."""
    pfc_pauses: dict[int, float] = field(default_factory=dict)
    """Priority-3 pause frames received by NIC (count)."""
    mistakes: tuple[str, ...] = ()
    """Annotations that could not be read, one sentence each."""


SETS = ("gpu-lost", "nic-down")
"""Signals whose value is a list of numbers, such as ``0,3``."""

MAPS = (
    "xid",
    "gpu-temperature",
    "gpu-power",
    "gpu-util",
    "ecc",
    "row-remap-failed",
    "nvlink-errors",
    "nic-flaps",
    "nic-errors",
    "pfc-pauses",
)
"""Signals whose value is a list of number:value, such as ``3:79``."""


def signals_of(node: Mapping[str, Any]) -> Signals:
    """The signals on one Node; one that cannot be read counts as not given and is named."""
    annotations = node["metadata"].get("annotations", {})
    given = {key.removeprefix(PREFIX): text for key, text in annotations.items() if key.startswith(PREFIX)}
    fields: dict[str, object] = {}
    for name, text in given.items():
        if name in SETS and _INDEXES.fullmatch(text):
            fields[name.replace("-", "_")] = frozenset(map(int, text.split(",")))
        elif name in MAPS and _VALUES.fullmatch(text):
            fields[name.replace("-", "_")] = dict(_pairs(text))
    mistakes = tuple(_mistake(node, name, given[name]) for name in given if name.replace("-", "_") not in fields)
    is_gone = node["metadata"].get("labels", {}).get(NOT_READY) == "true"
    return Signals(is_gone=is_gone, mistakes=mistakes, **fields)  # type: ignore[arg-type]  # names come from the table


def _pairs(text: str) -> Iterator[tuple[int, float]]:
    for pair in text.split(","):
        number, _, value = pair.partition(":")
        yield int(number), float(value)


def _mistake(node: Mapping[str, Any], name: str, text: str) -> str:
    allowed = "a list such as '0,3'" if name in SETS else "a list such as '3:79'"
    if name not in (*SETS, *MAPS):
        allowed = f"one of {', '.join(sorted((*SETS, *MAPS)))}"
    return f"host {node['metadata']['name']!r}: signal {name!r} is {text!r}; allowed is {allowed}; it is left out"
