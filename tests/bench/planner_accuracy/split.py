"""Which models the rules were fitted on, and which ones they are held to."""

from __future__ import annotations

import random
from collections.abc import Iterable

SEED = 5
"""Of the split; changing it means fitting again."""

FOLDS = 5
"""Parts that models are dealt to, to see how much a verdict hangs on the draw (count)."""


def calibration(models: Iterable[str]) -> frozenset[str]:
    """Half of the models, rounded down, drawn by seed; all rows of a model stand on one side."""
    names = sorted(set(models))
    random.Random(SEED).shuffle(names)  # noqa: S311  reproducible on purpose
    return frozenset(names[: len(names) // 2])


def folds(models: Iterable[str], seed: int) -> list[frozenset[str]]:
    """Deal models to parts by seed; each part is judged by a fit to the other ones."""
    names = sorted(set(models))
    random.Random(seed).shuffle(names)  # noqa: S311  reproducible on purpose
    return [frozenset(names[first::FOLDS]) for first in range(FOLDS)]
