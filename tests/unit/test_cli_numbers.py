"""Numbers of the command line are within bounds, and every mistake is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.cli import main
from infra.cli.numbers import NUMBERS

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PLAN = ["plan", "--model", LLAMA, "--gpu", "h100"]
STACK = str(Path(__file__).parents[2] / "stacks" / "Pulumi.lab.yaml")

ABSURD = ("-1", "1000000000000", "nan", "inf", "many", "")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("text", ABSURD, ids=["negative", "10^12", "nan", "inf", "word", "empty"])
def test_a_number_that_cannot_be_is_refused_with_its_bounds(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, no plan by another number, no figure of minus one token."""
    option = f"--{name.replace('_', '-')}"
    assert main([*PLAN, f"{option}={text}"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{option} {text!r} — a ")


@pytest.mark.parametrize("option", ["--max-len", "--max-seqs", "--batched-tokens", "--prompt", "--utilisation"])
def test_zero_is_not_the_usual(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """0 was planned as if nobody had said anything."""
    assert main([*PLAN, option, "0"]) == 2
    assert f"{option} '0' — " in capsys.readouterr().err


def test_all_mistakes_of_a_command_line_are_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A number, a GPU, an engine, a format and a model."""
    wrong = ["--gpus", "0", "--gpu", "hb100", "--engine", "vlm", "--quantisation", "fp7", "--model", "llama"]
    assert main(["plan", *wrong]) == 2
    starts = [line.split(" ")[0] for line in capsys.readouterr().err.splitlines()]
    assert starts == ["--gpus", "--gpu", "--engine", "quantisation", "checkpoint"]


def test_options_of_one_model_are_not_dropped_beside_a_stack_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The stack was planned as it is, and nobody told that --gpus 4 had no effect."""
    assert main(["plan", STACK, "--model", "tiny", "--gpus", "4", "--eager"]) == 2
    assert capsys.readouterr().err.startswith("--eager, --gpus — a stack file says that itself")


def test_a_gpu_may_be_written_in_capitals() -> None:
    """As its data sheet does."""
    assert main(["plan", "--model", LLAMA, "--gpu", "H100", "--json"]) == 0
