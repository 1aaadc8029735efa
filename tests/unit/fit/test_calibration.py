"""A log can be kept as a row that the catalog's own reader reads."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from infra.catalog.calibration import read as read_rows
from infra.errors import ConfigError, Unknown
from infra.fit.calibration import calibration_row, store
from infra.fit.compare import compare
from tests.unit.fit.plans import log_of, single

TEXT = (
    "Initializing a V1 LLM engine (v0.19.1) with config: max_seq_len=8192, tensor_parallel_size=1\n"
    "Model loading took 14.99 GiB and 5.0 seconds\nAvailable KV cache memory: 58.11 GiB\n"
    "GPU KV cache size: 476,016 tokens\n"
)


def _row(text: str = TEXT) -> dict[str, str]:
    log = log_of(text)
    return calibration_row(
        log, compare(log, single("llama-8b", "h100", "0.19.0")), source="logs/a.log", day=date(2026, 12, 2)
    )


def test_a_stored_row_is_read_back(tmp_path: Path) -> None:
    """Two of them under one header, with the figures, the date and the exact version."""
    path = tmp_path / "rows.csv"
    store(_row(), path)
    store(_row(), path)
    first, second = read_rows(path.read_text(encoding="utf-8").splitlines())
    assert (first, first.weights_gib, first.pool_gib, first.tokens) == (second, 14.99, 58.11, 476016)
    assert (first.version, first.gpu, first.max_len, first.outcome) == ((0, 19), "h100", 8192, "serves")
    assert (_row()["date"], _row()["engine_version"]) == ("2026-12-02", "0.19.1")


def test_what_the_log_does_not_say_stays_empty() -> None:
    """Nothing of the plan gets in among what was measured."""
    assert [_row()[name] for name in ("activation_gib", "non_torch_gib", "graphs_gib", "concurrency")] == [
        "",
        "",
        "",
        "",
    ]


def test_a_refused_start_is_a_row_too() -> None:
    """It shows what must not be called a fit."""
    row = _row(TEXT + "ValueError: No available memory for the cache blocks.\n")
    assert row["outcome"] == "refuses"


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    """A row is never added to what is no file of rows."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="begins with 'my notes"):
        store(_row(), path)
    assert path.read_text(encoding="utf-8") == "my notes\n"


def test_a_log_without_sizes_is_no_row() -> None:
    """Its speed of loading alone fits nothing."""
    with pytest.raises(Unknown, match="neither weights nor cache"):
        _row("Loading weights took 3.0 seconds\n")
