"""Nothing is written in a dry run, nor in a step that only reads."""

from __future__ import annotations

import pytest

from infra.errors import ConfigError
from runbooks.lib.writing import may
from tests.unit.runbooks.lib.acting import Acting


def test_a_dry_run_is_told() -> None:
    """What would be done stands in the step's result."""
    ctx = Acting(dry=True)
    assert not may(ctx, "delete pod models/a")
    assert ctx.wished == ["delete pod models/a"]


def test_a_step_that_reads_cannot_write() -> None:
    """To skip the write in silence would let the run believe it was done."""
    with pytest.raises(ConfigError, match="writes=True"):
        may(Acting(writes=False), "delete pod models/a")


def test_a_step_that_writes_may() -> None:
    """And nothing is said of it."""
    ctx = Acting()
    assert may(ctx, "delete pod models/a")
    assert not ctx.wished
