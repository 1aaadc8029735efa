"""Every example file gets exactly the findings that it names.

A file is for one rule (its folder) and one verdict (the start of its name). Its first document lists the findings,
the others are the Kubernetes objects of a small stack; ``!unknown`` stands for what is known at the update only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.field import UNKNOWN, Field
from policies.registry import load
from policies.resource import Resource

RULES = {rule.rule_id: rule for rule in load()}
FOLDER = Path(__file__).parent
"""Folder of the examples; one folder below it per rule id."""


class _Loader(yaml.SafeLoader):
    """YAML with the tag ``!unknown`` for what Pulumi can tell at the update only."""


_Loader.add_constructor("!unknown", lambda loader, node: UNKNOWN)


@dataclass(frozen=True, slots=True)
class Example:
    """One file: its rule and verdict come from its path, the rest from its documents."""

    rule_id: str
    verdict: str
    expect: list[dict[str, str]]
    stack: list[Resource]


def read(file: Path) -> Example:
    """Read one example file."""
    head, *objects = yaml.load_all(file.read_text(), _Loader)
    verdict = file.name.partition("-")[0]
    return Example(file.parent.name, verdict, head["expect"], [_resource(given) for given in objects])


def _resource(given: dict[str, Any]) -> Resource:
    version = given["apiVersion"] if "/" in given["apiVersion"] else f"core/{given['apiVersion']}"
    pulumi_type = given.get("pulumiType", f"kubernetes:{version}:{given['kind']}")
    return Resource(pulumi_type, given["metadata"]["name"], Field(given))


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*/*.yaml")), ids=lambda file: str(file.relative_to(FOLDER)))
def test_a_rule_finds_what_the_example_names_and_nothing_else(file: Path) -> None:
    """The rule gives the file's verdict, at the paths and in the words that the file lists."""
    example = read(file)
    found = [
        (resource.name, finding)
        for resource in example.stack
        for finding in RULES[example.rule_id].findings(resource, example.stack)
    ]
    seen = [(name, finding.verdict, finding.path) for name, finding in found]
    assert seen == [(want["resource"], example.verdict, want["path"]) for want in example.expect], found
    for (_, finding), want in zip(found, example.expect, strict=True):
        assert want["says"] in finding.message
