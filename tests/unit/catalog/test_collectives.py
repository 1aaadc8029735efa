"""Collectives take what was measured, and never less for more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from infra.catalog.collectives import MEASURED, SIZES, STAND_INS, excess, is_measured, seconds
from infra.catalog.gpus import GPUS


@pytest.mark.parametrize(("gpu", "ranks", "size", "micros"), [
    ("h100", 8, 512, 15.59), ("h100", 8, 536_870_912, 2111.06), ("b200", 8, 524_288, 28.45),
    ("l40s", 8, 8_388_608, 9987.8),
], ids=str)  # fmt: skip
def test_measured_sizes_come_out_as_measured(gpu: str, ranks: int, size: int, micros: float) -> None:
    """A size of the table takes the time of the table."""
    assert seconds(GPUS[gpu], "all_reduce", ranks, size) * 1e6 == pytest.approx(micros)


@pytest.mark.parametrize("key", MEASURED, ids=str)
def test_a_larger_message_never_takes_less(key: tuple[str, str, int]) -> None:
    """Noise in the table does not make anything faster by sending more."""
    name, operation, ranks = key
    sizes = sorted({int(size * share) for size in SIZES for share in (0.5, 1, 1.7)})
    times = [seconds(GPUS[name], operation, ranks, size) for size in sizes]  # type: ignore[arg-type]
    assert all(less <= more * (1 + 1e-12) for less, more in pairwise(times))


def test_one_rank_talks_to_nobody() -> None:
    """A model on one GPU pays nothing for links."""
    assert seconds(GPUS["h100"], "all_reduce", 1, 1e9) == excess(GPUS["h100"], "all_reduce", 1, 1e9) == 0


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS.keys())
def test_every_gpu_has_a_curve_and_says_whether_it_is_its_own(gpu: object) -> None:
    """GPUs that nobody measured take another one's, and that is told."""
    assert seconds(gpu, "all_reduce", 2, 1e6) > 0  # type: ignore[arg-type]
    assert is_measured(gpu, "all_reduce", 2) == (gpu.name not in STAND_INS)  # type: ignore[arg-type, attr-defined]
