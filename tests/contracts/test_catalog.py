"""Every row of the catalog has a source, and no two numbers in a row contradict each other."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.engines import ENGINES
from infra.catalog.gpus import GPUS, Gpu
from infra.catalog.prices import REFERENCES
from infra.catalog.quantisations import QUANTISATIONS
from infra.catalog.targets import TARGETS
from infra.config.formats import Quantisation
from infra.units import GIB

ROWS: list[Any] = [
    *GPUS.values(),
    *BOARDS.values(),
    *TARGETS.values(),
    *(row for rows in ENGINES.values() for row in rows),
]
TOLERANCE_GIB = 0.01
"""Torch totals are logged with two decimals (GiB)."""

gpus = pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{type(row).__name__} {row.name}")
def test_every_row_says_where_it_comes_from(row: Any) -> None:
    """A figure without a source cannot be checked."""
    assert len(row.source) >= 20


@gpus
def test_torch_sees_no_more_than_the_driver(gpu: Gpu) -> None:
    """PyTorch's total is what the driver reports, less what the driver keeps."""
    assert 0.97 * gpu.memory_smi_mib / 1024 <= gpu.memory_torch_gib <= gpu.memory_smi_mib / 1024 + TOLERANCE_GIB


@gpus
def test_the_marketing_number_taken_as_gib_is_too_large(gpu: Gpu) -> None:
    """Whoever sizes by it has up to 20 GiB of cache that does not exist."""
    assert gpu.memory_torch_gib < gpu.memory_marketing_gb
    assert gpu.memory_smi_mib / 1024 <= gpu.memory_marketing_gb


@gpus
def test_a_compute_capability_is_a_pair_of_numbers(gpu: Gpu) -> None:
    """The labels of a host are made of its parts."""
    assert [part.isdigit() for part in gpu.compute_capability.split(".")] == [True, True]


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_price_says_when_and_where_it_was_seen(name: str) -> None:
    """Prices are the weakest data there is; an undated one is worth nothing."""
    assert name in GPUS
    assert REFERENCES[name].as_of >= "2026"
    assert len(REFERENCES[name].source) >= 20


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_a_board_has_gpus_or_has_nothing_of_them(board: Any) -> None:
    """GPUs, rails and a device id come together."""
    assert bool(board.gpu) == bool(board.gpus) == bool(board.pci_device)
    assert bool(board.rails) == bool(board.rail_gbit)


@pytest.mark.parametrize(
    "board", [board for board in BOARDS.values() if board.arch == "amd64"], ids=lambda board: board.name
)
def test_a_host_holds_more_than_its_gpus(board: Any) -> None:
    """Weights pass through host memory before they reach the GPUs; trays of a rack alone have less of it."""
    gpus = board.gpus * board.gpu.memory_smi_mib * 1024**2 if board.gpu else 0
    assert board.memory_gib * GIB > 0.9 * gpus


def test_a_stack_may_name_every_format_that_a_checkpoint_may_be_in() -> None:
    """All of the catalog's but those that are only kernels' ways to keep another one."""
    kept = {row.fallback for row in QUANTISATIONS.values()}
    assert set(get_args(Quantisation)) == set(QUANTISATIONS) - kept
