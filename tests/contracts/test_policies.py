"""Facts about the policy pack that hold for every rule, now and later."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from policies.registry import Rule, load

ROOT = Path(__file__).parents[2]
RULES = load()
FILES = {path.stem.upper().replace("_", "-")[:6]: path for path in (ROOT / "policies/rules").rglob("rw_*.py")}
EXAMPLES = {"pass": 3, "fail": 4, "unknown": 1}
"""Fewest example files of a rule, by verdict."""
ALLOWED = ("infra.catalog", "infra.errors", "infra.units", "policies")
"""Modules of ours that the pack may import: a judge shares no code with the accused."""


def test_every_rule_file_is_found() -> None:
    """The registry walks into every area; a file that is not found would judge nothing."""
    assert sorted(FILES) == [rule.rule_id for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule_id)
def test_a_rule_says_its_id_where_readers_look(rule: Rule) -> None:
    """The docstring of the file starts with the id, so that a search for it ends there."""
    assert (ast.get_docstring(ast.parse(FILES[rule.rule_id].read_text())) or "").startswith(f"{rule.rule_id}: ")


@pytest.mark.parametrize("verdict", EXAMPLES)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule_id)
def test_a_rule_has_examples_of_every_verdict(rule: Rule, verdict: str) -> None:
    """Examples are a rule's documentation: enough that pass, that fail, and that cannot be told yet."""
    found = list((ROOT / "tests/policies" / rule.rule_id).glob(f"{verdict}-*.yaml"))
    assert len(found) >= EXAMPLES[verdict], found


def test_every_example_belongs_to_a_rule_and_a_verdict() -> None:
    """A file with a mistyped name would be run by nobody."""
    known = {(rule.rule_id, verdict) for rule in RULES for verdict in EXAMPLES}
    files = (ROOT / "tests/policies").glob("*/*.yaml")
    assert {(file.parent.name, file.name.partition("-")[0]) for file in files} <= known


@pytest.mark.parametrize("file", sorted((ROOT / "policies").rglob("*.py")), ids=lambda file: file.stem)
def test_the_pack_shares_no_code_with_what_it_judges(file: Path) -> None:
    """Rules import facts, units and errors of ours, and nothing that plans or renders."""
    roots = ("infra", "lab", "services", "runbooks", "policies")
    ours = [name for name in _imported(file) if name.partition(".")[0] in roots]
    assert [name for name in ours if not name.startswith(ALLOWED)] == []


def test_the_pack_imports_pulumi_in_its_adapter_only() -> None:
    """Rules are plain functions, so that they can be run without the engine."""
    users = {path.name for path in (ROOT / "policies").rglob("*.py") if "pulumi" in " ".join(_imported(path))}
    assert users == {"__main__.py"}


def test_the_project_file_names_the_pack() -> None:
    """The CLI reads the pack's name and runtime from here."""
    project = yaml.safe_load((ROOT / "policies/PulumiPolicy.yaml").read_text())
    assert (project["name"], project["runtime"]) == ("railwright", "python")


def _imported(file: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
