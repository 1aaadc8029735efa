"""`infra plan` tells what a stack comes down to, touches nothing, and needs no Pulumi."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.cli import main
from infra.document.plan import DiffDocument, PlanDocument
from tests.unit.plan.specs import STACK, changed

REPO = Path(__file__).resolve().parents[2]


def _stack(folder: Path, changes: dict[str, Any]) -> str:
    path = folder / "Pulumi.test.yaml"
    config = {f"railwright:{key}": value for key, value in changed(changes).items()}
    path.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("changes", "code"),
    [({}, 0), ({"models/chat/min_available": 2}, 2), ({"gateway/drian": "1m"}, 2), ({"cluster/target": "labb"}, 2)],
    ids=["works", "refused", "mistaken", "no plan possible"],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_exit_code_tells_whether_it_works(
    tmp_path: Path, changes: dict[str, Any], code: int, form: list[str]
) -> None:
    """0 when it can be carried out, 2 when not, in both forms."""
    assert main(["plan", _stack(tmp_path, changes), *form]) == code


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, without a traceback."""
    assert main(["plan", str(tmp_path / "Pulumi.none.yaml")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_every_refusal_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes and refusals alike, each on a line of its own."""
    main(["plan", _stack(tmp_path, {"gateway/drian": "1m", "models/chat/min_available": 2})])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "gateway.drian: no such key; did you mean 'drain'?" in lines
    assert "RW-204 models.chat.min_available: 2 of 2 replicas, so no host can ever be drained; set it to 1" in lines


def test_values_that_look_like_markup_are_printed_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Square brackets in a value are no colours."""
    main(["plan", _stack(tmp_path, {"pools/gpus/fabric": "[bold]roce[/]"})])
    assert "'[bold]roce[/]' is not allowed" in capsys.readouterr().out


def test_json_is_what_its_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing more and nothing less; no value of a key is in it."""
    main(["plan", _stack(tmp_path, {}), "--json"])
    text = capsys.readouterr().out
    plan = PlanDocument.model_validate_json(text)
    assert (plan.models[0].options.max_len, plan.models[0].layout.gpus) == (8192, 1)
    assert plan.gateway
    assert plan.gateway.replicas == 2
    assert STACK["keys"]["team"]["secret"] not in text


def test_json_lists_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program need not read the table."""
    main(["plan", _stack(tmp_path, {"models/chat/min_available": 2}), "--json"])
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem.startswith("RW-204 models.chat.min_available: ")


@pytest.mark.parametrize(
    "changes", [{}, {"models/chat/min_available": 2}, {"gateway/drian": "1m"}], ids=["works", "refused", "mistaken"]
)
def test_nothing_is_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    """The folder is as it was, whatever the answer."""
    stack = _stack(tmp_path, changes)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    main(["plan", stack])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_plan_needs_no_pulumi(tmp_path: Path) -> None:
    """It is not even imported, which is what makes a plan take less than a second."""
    program = "import sys; from infra.cli import main; main(sys.argv[1:]); print('|', *sorted(sys.modules))"
    command = [sys.executable, "-c", program, "plan", _stack(tmp_path, {})]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPO, check=True, timeout=120)
    modules = ended.stdout.rpartition("|")[2].split()
    assert "infra.plan.build" in modules
    assert [
        name for name in modules if name.split(".")[0] in ("pulumi", "pulumi_kubernetes", "grpc", "kubernetes")
    ] == []


def test_one_model_of_a_stack_has_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its memory as a bar, and what it holds."""
    assert main(["plan", _stack(tmp_path, {}), "--model", "chat"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("chat: 2 replicas of 1 × h100, vllm 0.32.0 — holds\n█")


def test_a_model_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and the names to choose from."""
    assert main(["plan", _stack(tmp_path, {}), "--model", "chta"]) == 2
    assert capsys.readouterr().err.endswith("choose one of chat\n")


REFUSED = {
    "no score": ({"models/chat/quantisation": "fp8"}, "RW-103 models.chat.evidence: "),
    "heads": ({"models/chat/tensor_parallel": 3}, "RW-102 models.chat.tensor_parallel: "),
    "hosts": ({"models/chat/tensor_parallel": 16}, "RW-104 models.chat.tensor_parallel: "),
    "batch": ({"models/chat/concurrency": 10**6}, "RW-101 models.chat.concurrency: "),
    "drain": ({"models/chat/min_available": 2}, "RW-204 models.chat.min_available: "),
    "file of scores": ({"models/chat/evidence": "none.yaml"}, "models.chat.evidence: 'none.yaml' cannot be read"),
}
"""Changes to a model, and what is wrong with it then."""


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_a_model_of_a_refused_stack_was_said_to_hold(
    tmp_path: Path, changes: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On its own screen, with exit code 0, while the stack refused it; JSON and report said so too."""
    stack = _stack(tmp_path, changes)
    assert main(["plan", stack, "--model", "chat"]) == 2
    assert f"\n  does not hold: {said}" in capsys.readouterr().out
    assert main(["plan", stack, "--json", "--report", str(tmp_path / "report")]) == 2
    (model,) = PlanDocument.model_validate_json(capsys.readouterr().out).models
    assert model.problems[0].startswith(said)
    assert f"**Does not hold:** {said}" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_a_model_holds_and_its_stack_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong elsewhere is not the model's, and is not passed over."""
    assert main(["plan", _stack(tmp_path, {"gateway/drian": "1m"}), "--model", "chat"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("chat: 2 replicas of 1 × h100, vllm 0.32.0 — holds\n")
    assert err.startswith("its stack has 1 more to fix; ")


def test_a_model_that_nobody_can_judge_was_told_to_be_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek-V4 alone: why it cannot be told, and exit code 4."""
    changes = {"models/chat/architecture": "deepseek-ai/DeepSeek-V4-Flash", "models/chat/tensor_parallel": 8}
    assert main(["plan", _stack(tmp_path, changes), "--model", "chat"]) == 4
    assert "pages of several sizes" in capsys.readouterr().err


def test_a_reader_that_stops_ended_in_a_traceback(tmp_path: Path) -> None:
    """As in ``infra plan STACK --json | head``."""
    command = [sys.executable, "-m", "infra.cli", "plan", _stack(tmp_path, {}), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPO) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    "more", [["--model", "chat"], ["--report", "folder"], ["--gpu", "h100"]], ids=lambda more: str(more[0])
)
def test_options_that_a_difference_does_not_heed_were_taken_in_silence(
    tmp_path: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused, so that nobody believes in a difference of one model."""
    stack = _stack(tmp_path, {})
    assert main(["plan", "--diff", stack, stack, *more]) == 2
    assert capsys.readouterr().err.startswith(f"{more[0]} — ")


def test_a_difference_to_a_refused_stack_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It only counted one refusal more."""
    folder = tmp_path / "b"
    folder.mkdir()
    other = _stack(folder, {"models/chat/tensor_parallel": 3})
    assert main(["plan", "--diff", _stack(tmp_path, {}), other]) == 2
    assert f"{other}: RW-102 models.chat.tensor_parallel: " in capsys.readouterr().err


def test_two_stacks_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figure by figure, with by how much; equal ones are left out."""
    folder = tmp_path / "b"
    folder.mkdir()
    other = _stack(folder, {"models/chat/replicas": 4})
    assert main(["plan", "--diff", _stack(tmp_path, {}), other]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["models.chat", "replicas", "2", "4", "+2", "(+100.0%)"] in lines
    assert not any("weights" in line for line in lines)


def test_a_difference_is_data_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the schema says."""
    stack = _stack(tmp_path, {})
    main(["plan", "--diff", stack, stack, "--json"])
    assert DiffDocument.model_validate_json(capsys.readouterr().out).changes == []


def test_nothing_to_plan_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With the three ways to ask."""
    assert main(["plan"]) == 2
    assert "give a STACKFILE, or --model and --gpu, or --diff A B" in capsys.readouterr().err


def test_a_goal_shows_what_would_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cheapest way, the next one, and what binds."""
    goal = {"prompt": 1024, "output": 1024, "concurrency": 64, "token_s": 0.1}
    main(["plan", _stack(tmp_path, {"models/chat/goal": goal}), "--model", "chat"])
    lines = {line[:15].strip(): line[16:].strip() for line in capsys.readouterr().out.splitlines()}
    assert lines["load"].startswith("1,024 tokens in, 1,024 out, 32 at once on each replica")
    assert "replicas: " in lines["would do"]
    assert {"first token", "next token", "rate", "binds", "runner-up"} <= lines.keys()


def test_a_stack_that_nobody_can_judge_is_not_called_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek-V4's cache cannot be told: refused all the same, with exit code 4."""
    changes = {"models/chat/architecture": "deepseek-ai/DeepSeek-V4-Flash", "models/chat/tensor_parallel": 8}
    assert main(["plan", _stack(tmp_path, changes)]) == 4
    assert "RW-101 models.chat.architecture: cannot tell, " in capsys.readouterr().out


def test_a_config_file_that_nobody_can_judge_is_not_called_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class without rules in a stack's own config.json ended with 2, as if the stack were wrong."""
    config = tmp_path / "config.json"
    config.write_text('{"architectures": ["NewModelForCausalLM"], "model_type": "new"}', encoding="utf-8")
    assert main(["plan", _stack(tmp_path, {"models/chat/config": str(config)})]) == 4
    assert "RW-101 models.chat.config: cannot tell, " in capsys.readouterr().out


def test_a_stack_nested_without_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ended in a traceback."""
    path = tmp_path / "Pulumi.deep.yaml"
    path.write_text(f"config: {'[' * 100_000}", encoding="utf-8")
    assert main(["plan", str(path)]) == 2
    assert "is nested deeper than any spec" in capsys.readouterr().err
