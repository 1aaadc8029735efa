"""`infra fit` tells whether a start-up log agrees with the plan, and keeps it when asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.catalog.calibration import read
from infra.cli import main

ARGUMENTS = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "h100"]
AGREES = (
    "INFO [core.py] Initializing a V1 LLM engine (v0.19.0) with config: max_seq_len=8192, tensor_parallel_size=1\n"
    "INFO Free memory on device (78.90/79.19 GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). "
    "Actual usage is 14.99 GiB for weight, 1.89 GiB for peak activation, 0.25 GiB for non-torch memory, and 0.5 GiB "
    "for CUDAGraph memory.\nINFO Available KV cache memory: 58.11 GiB\nINFO GPU KV cache size: 476,016 tokens\n"
)
"""Source: llm-d-planner docs/accuracy/vllm-v0.19.0-accuracy-report.md."""
DIFFERS = AGREES.replace("1.89 GiB for peak", "5.89 GiB for peak")


def _log(folder: Path, text: str) -> str:
    path = folder / "engine.log"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (AGREES, 0, "agrees with the plan"),
        (DIFFERS, 1, "off: activation — 4.00 GiB more than planned"),
        ("Traceback\n", 4, "cannot tell: the log — has no figure"),
        ("Model loading took 14.99 GiB and 5.0 seconds\n", 4, "the log — ends before the cache"),
        (AGREES.replace("v0.19.0", "v0.5.3.post1"), 4, "its rules before 0.10 are not known"),
        (f"{AGREES}{'x' * 1_000_000}\n", 0, "agrees with the plan"),
    ],
    ids=["agrees", "differs", "says nothing", "is cut", "is old", "has a line without end"],
)
def test_the_exit_code_tells_what_a_log_says(
    tmp_path: Path, text: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 as planned, 1 not as planned, 4 cannot tell; the version is the log's own."""
    assert main(["fit", _log(tmp_path, text), *ARGUMENTS]) == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_without_a_plan_the_figures_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what is missing to hold them against one."""
    assert main(["fit", _log(tmp_path, AGREES)]) == 0
    out = capsys.readouterr().out
    assert ["weights", "14.99", "GiB", "1"] in [line.split() for line in out.splitlines()]
    assert "give --stack-file and --model, or --model and --gpu" in out


def test_a_log_is_kept_as_a_row(tmp_path: Path) -> None:
    """One that the catalog reads."""
    rows = tmp_path / "rows.csv"
    main(["fit", _log(tmp_path, AGREES), *ARGUMENTS, "--store", str(rows), "--source", "ticket 17"])
    (row,) = read(rows.read_text(encoding="utf-8").splitlines())
    assert (row.activation_gib, row.pool_gib, row.source) == (1.89, 58.11, "ticket 17")


def test_json_names_the_term_that_is_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipeline need not read the table."""
    main(["fit", _log(tmp_path, DIFFERS), *ARGUMENTS, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["blame"] == "activation"
    assert [term["name"] for term in said["terms"] if term["is_off"]] == ["activation"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--store", "rows.csv"], "a row names model and GPU"), (["--stack-file", "x.yaml"], "say which with --model")],
    ids=["a row without a plan", "a stack without a model"],
)
def test_what_is_missing_is_told(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with the option to give."""
    assert main(["fit", _log(tmp_path, AGREES), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_log_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback."""
    assert main(["fit", str(tmp_path / "none.log")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_figures_of_an_engine_too_old_to_plan_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only their comparison cannot be told."""
    assert main(["fit", _log(tmp_path, AGREES.replace("v0.19.0", "v0.5.3")), *ARGUMENTS]) == 4
    assert "58.11 GiB" in capsys.readouterr().out


def test_a_row_is_not_glued_to_a_file_without_a_last_line_break(tmp_path: Path) -> None:
    """Two rows became one that nobody can read."""
    log, rows = _log(tmp_path, AGREES), tmp_path / "rows.csv"
    command = ["fit", log, *ARGUMENTS, "--store", str(rows)]
    main(command)
    rows.write_text(rows.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    main(command)
    assert len(list(read(rows.read_text(encoding="utf-8").splitlines()))) == 2
