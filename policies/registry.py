"""Finds the rules: every module under ``rules`` whose name says an id is one."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from infra.errors import ConfigError
from policies import rules
from policies.field import Field, Finding, settle
from policies.resource import Resource

RULE_ID = re.compile(r"[A-Z]{2}-\d{3}")
"""Shape of a rule id, the ids of design and documents."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it refuses, which resources it judges, and how to satisfy it."""

    rule_id: str
    severity: Literal["high", "critical"]
    applies_to: tuple[str, ...]
    title: str
    remediation: str
    needs_stack: bool
    """Whether ``check`` takes the resources of the whole stack as well."""
    check: Callable[..., Iterator[Finding]]

    def findings(self, resource: Resource, stack: Sequence[Resource] = ()) -> list[Finding]:
        """Judge one resource; a rule that breaks is a failure that names the rule, never a pass."""
        if resource.type not in self.applies_to:
            return []

        def judge(_: Field) -> Iterator[Finding]:
            return self.check(resource, stack) if self.needs_stack else self.check(resource)

        found: list[Finding] = []
        try:
            found.extend(settle(judge, resource.inputs))
        except Exception as error:  # a broken rule must neither pass nor take the other rules down
            said = f"the rule itself broke with {type(error).__name__}: {error}; nothing was judged, report it as a bug"
            found.append(Finding("fail", resource.inputs.path, said))
        return found


def load() -> list[Rule]:
    """Find all rules, sorted by id.

    Raises:
        ConfigError: a rule lacks a part, or two have the same id.
    """
    found: dict[str, Rule] = {}
    for info in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        if info.ispkg:
            continue
        rule = from_module(importlib.import_module(info.name))
        if rule.rule_id in found:
            raise ConfigError(
                f"policy pack: two rules have the id {rule.rule_id!r}; ids are unique, give {info.name} "
                "the next free one"
            )
        found[rule.rule_id] = rule
    return [found[rule_id] for rule_id in sorted(found)]


def from_module(module: ModuleType) -> Rule:
    """Read a rule from its module.

    Raises:
        ConfigError: a part is missing, or the id is not of the shape ``RW-201``.
    """
    parts = ("RULE_ID", "SEVERITY", "APPLIES_TO", "TITLE", "REMEDIATION", "NEEDS_STACK", "check")
    if missing := [part for part in parts if not hasattr(module, part)]:
        raise ConfigError(f"rule {module.__name__}: {', '.join(missing)} missing; a rule defines {', '.join(parts)}")
    if not RULE_ID.fullmatch(module.RULE_ID):
        raise ConfigError(f"rule {module.__name__}: id {module.RULE_ID!r} is not like 'RW-201'; use the refusal's id")
    return Rule(*(getattr(module, part) for part in parts))
