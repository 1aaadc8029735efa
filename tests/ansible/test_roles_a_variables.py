"""Variables of roles: what Ansible would convert without a word, and a role would misread."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.ansible.fakes.plugin import plugin
from tests.ansible.fakes.sandbox import REPO

variables = plugin("kernel_settings", "filter_plugins", "variables")

ROLES = ("kernel_settings", "cpu", "pcie", "storage", "time_sync", "hardening")
OPTIONS = {
    "truth": {"type": "bool"}, "count": {"type": "int"}, "word": {"type": "str"},
    "words": {"type": "list", "elements": "str"}, "named": {"type": "dict"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("truth", "false", "truth is the text 'false' — true or false is meant — write it without quotes"),
        ("truth", 0, "truth is 0 — true or false is meant"),
        ("count", True, "count is true, which YAML makes of yes and on, — a number of 0 or more is meant"),
        ("count", "10", "count is the text '10' — a number of 0 or more is meant — write it without quotes"),
        ("count", -1, "count is -1 — a number of 0 or more is meant"),
        ("count", 1.5, "count is 1.5 — a number of 0 or more is meant"),
        ("count", None, "count is None — a number of 0 or more is meant"),
        ("word", False, "word is false, which YAML makes of no and off, — a word is meant — put the word in quotes"),
        ("word", None, "word is None — a word is meant"),
        ("words", "noatime", "words is the text 'noatime' — words is meant"),
        ("words", ["noatime", True], "words is ['noatime', True] — words is meant"),
        ("named", {"iommu": False}, "named is {'iommu': False} — words by name is meant"),
        ("named", [], "named is [] — words by name is meant"),
    ],
)
def test_a_variable_of_another_type_is_named(name: str, value: Any, said: str) -> None:
    """With what it is, what is meant, and what to do."""
    assert variables.variable_mistakes({name: value}, OPTIONS)[0].startswith(said)


@pytest.mark.parametrize(
    ("name", "value"),
    [("truth", False), ("count", 0), ("word", ""), ("word", 8), ("words", []), ("words", ["a", "b"]),
     ("named", {"quiet": "", "net.ifnames": 0})],
)  # fmt: skip
def test_a_variable_of_its_type_passes(name: str, value: Any) -> None:
    """A number is a word too, such as one CPU of a list."""
    assert variables.variable_mistakes({name: value}, OPTIONS) == []


@pytest.mark.parametrize("role", ROLES)
def test_defaults_pass(role: str) -> None:
    """Every type that the specifications use is known, and every default has it."""
    folder = REPO / "ansible/roles" / role
    specified = yaml.safe_load((folder / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((folder / "defaults/main.yml").read_text(encoding="utf-8"))
    assert variables.variable_mistakes(defaults, specified["argument_specs"]["main"]["options"]) == []
