"""The lab's tiny model is the one that the stack describes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
SCRIPT = REPO / "lab/engine/write_tiny_llama.py"
STACK = REPO / "stacks/Pulumi.lab.yaml"

SAME = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "intermediate": "intermediate_size",
    "vocab": "vocab_size",
    "max_context": "max_position_embeddings",
}
"""Our word for each figure of a shape, and Llama's."""


def written() -> dict[str, Any]:
    """What the script gives to LlamaConfig; read, not run, for its imports are there only inside the engine."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    config = next(call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "LlamaConfig")
    return {str(word.arg): _value(word.value, constants) for word in config.keywords}


def _value(node: ast.expr, constants: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    return node.value if isinstance(node, ast.Constant) else None


@pytest.mark.parametrize(("ours", "theirs"), SAME.items(), ids=SAME)
def test_the_stack_says_what_is_written(ours: str, theirs: str) -> None:
    """Sizing would otherwise judge a model that nobody runs."""
    shape = yaml.safe_load(STACK.read_text(encoding="utf-8"))["config"]["railwright:models"]["tiny"]["shape"]
    assert shape[ours] == written()[theirs]


def test_the_head_is_a_share_of_the_hidden_layer() -> None:
    """The script names no head size, so Llama's own rule holds."""
    shape = yaml.safe_load(STACK.read_text(encoding="utf-8"))["config"]["railwright:models"]["tiny"]["shape"]
    assert "head_dim" not in written()
    assert shape["head_dim"] == shape["hidden"] // shape["heads"]
