"""One model is planned without a stack file, from its config and a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.cli import main
from infra.document.plan import PlanDocument
from tests.unit.fit.plans import CONFIGS

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def _config(folder: Path) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIGS["llama-8b"]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("form", ["file", "folder", "name"])
def test_a_model_is_named_by_its_file_its_folder_or_its_name(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All three come to the same figures."""
    asked = {"file": _config(tmp_path), "folder": str(tmp_path), "name": LLAMA}[form]
    assert main(["plan", "--model", asked, "--gpu", "h100", "--engine-version", "0.32.0", "--json"]) == 0
    (model,) = PlanDocument.model_validate_json(capsys.readouterr().out).models
    assert (model.architecture.parameters, model.memory.kv_tokens) == (8_030_261_248, 452_928)


def test_what_does_not_fit_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    """gpt-oss-120b on one H100: the longest request that fits, and the GPUs that hold it whole (vllm#27508)."""
    command = ["plan", "--model", "openai/gpt-oss-120b", "--gpu", "h100", "--utilisation", "0.95"]
    code = main([*command, "--max-len", "131072", "--engine-version", "0.11.0", "--json"])
    (model,) = PlanDocument.model_validate_json(capsys.readouterr().out).models
    (problem,) = model.problems
    assert (code, model.memory.starts, model.speed) == (2, False, None)
    assert "set the longest request to " in problem or "take all the memory" in problem
    assert problem.endswith("2 × h100 would do") or "2 × h100 would do, or" in problem


def test_engines_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """What the same GPUs hold differs between them by design, not by a bug (vllm#21348)."""
    main(["plan", "--model", LLAMA, "--gpu", "h100", "--json"])
    (model,) = PlanDocument.model_validate_json(capsys.readouterr().out).models
    tokens = {way.name: way.kv_tokens for way in model.ways}
    assert {"2 × h100", "8 × h100", "sglang", "trtllm"} <= tokens.keys()
    assert tokens["2 × h100"] > 2 * model.memory.kv_tokens


def test_more_requests_than_fit_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With how many do."""
    code = main(["plan", "--model", LLAMA, "--gpu", "h100", "--concurrency", "5000", "--json"])
    (model,) = PlanDocument.model_validate_json(capsys.readouterr().out).models
    assert (code, model.problems[0].split(";")[0]) == (2, "5,000 requests of 2,048 tokens do not fit at once")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--gpu", "hb100"], 2, "did you mean 'h100'?"),
        ([], 2, "choose one of h100"),
        (["--gpu", "h100", "--engine", "vlm"], 2, "did you mean 'vllm'?"),
        (["--gpu", "h100", "--engine-version", "newest"], 2, "is no version such as 0.32.0"),
        (["--gpu", "h100", "--engine-version", "0.5.0"], 4, "its rules before 0.10 are not known"),
        (["--gpu", "h100", "--gpus", "3"], 2, "32 attention heads cannot be dealt evenly"),
        (["--gpu", "h100", "--gpus", "4", "--pipeline", "3"], 2, "give a multiple of 3"),
        (["--gpu", "h100", "--quantisation", "fp7"], 2, "is no format known here"),
        (["--gpu", "h100", "--max-len", "100", "--prompt", "200"], 2, "is longer than the longest one, 100"),
    ],
    ids=["gpu", "no gpu", "engine", "version", "old version", "heads", "stages", "format", "length"],
)
def test_what_cannot_be_is_one_line_with_the_fix(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 when it is wrong, 4 when nobody can tell."""
    assert main(["plan", "--model", LLAMA, *arguments]) == code
    assert said in capsys.readouterr().err


def test_an_unknown_checkpoint_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With the way out: its own config."""
    assert main(["plan", "--model", "nobody/nothing", "--gpu", "h100"]) == 2
    assert "give its config.json as a file" in capsys.readouterr().err


def test_a_model_that_no_host_holds_is_offered_several(capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek-R1 on eight H100 was told to use more GPUs, and not how."""
    assert main(["plan", "--model", "deepseek-ai/DeepSeek-R1", "--gpu", "h100", "--gpus", "8"]) == 2
    said = capsys.readouterr().out
    assert "16 × h100 on 2 hosts would do" in " ".join(said.split())
    assert "32 × h100 on 4 hosts" in said


def test_a_model_that_one_host_holds_is_not_spread(capsys: pytest.CaptureFixture[str]) -> None:
    """More hosts are of no interest then."""
    main(["plan", "--model", "openai/gpt-oss-120b", "--gpu", "h100", "--gpus", "1"])
    assert "hosts" not in capsys.readouterr().out
