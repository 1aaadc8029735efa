"""Which models the rules were fitted on, and which ones they are held to."""

from __future__ import annotations

import random
from collections.abc import Iterable

SEED = 5
"""Of the split; changing it means fitting again."""


def calibration(models: Iterable[str]) -> frozenset[str]:
    """Half of the models, rounded down, drawn by seed; all rows of a model stand on one side."""
    names = sorted(set(models))
    random.Random(SEED).shuffle(names)  # noqa: S311  reproducible on purpose
    return frozenset(names[: len(names) // 2])
