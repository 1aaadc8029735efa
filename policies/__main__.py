"""Hands our rules to Pulumi: one mandatory policy per rule, advisory ones for what is not known yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from policies.field import UNKNOWN, Field
from policies.registry import Rule, load
from policies.resource import Resource


def plain(value: Any) -> Any:
    """Turn Pulumi's guarded inputs into dicts, lists and ``UNKNOWN``; theirs raise at the first unknown value."""
    if isinstance(value, Mapping):
        return {key: _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_item(value, index) for index in range(len(value))]
    # Numbers come over the wire as floats; a count of 8 is not 8.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _item(holder: Any, key: Any) -> Any:
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN


class Inputs(Mapping[str, Any]):
    """Inputs of a resource; a part is made plain when a rule first looks at it, as most are never looked at."""

    def __init__(self, guarded: Mapping[str, Any]) -> None:
        self._guarded, self._plain = guarded, dict[str, Any]()

    def __getitem__(self, key: str) -> Any:
        if key not in self._plain:
            self._plain[key] = _item(self._guarded, key)
        return self._plain[key]

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._guarded)

    def __len__(self) -> int:
        return len(self._guarded)


def _resource(given: ResourceValidationArgs | PolicyResource) -> Resource:
    return Resource(given.resource_type, given.name, Field(Inputs(given.props)), given.urn)


def _policy(rules: Sequence[Rule], verdict: str, level: EnforcementLevel, **facts: Any) -> Policy:
    """Wrap rules that all need the stack, or all do not; Pulumi reads all resources anew for each policy."""

    def judge(args: ResourceValidationArgs, report: ReportViolation) -> None:
        _report(rules, verdict, [_resource(args)], report)

    def judge_stack(args: StackValidationArgs, report: ReportViolation) -> None:
        _report(rules, verdict, [_resource(given) for given in args.resources], report)

    if rules[0].needs_stack:
        return StackValidationPolicy(validate=judge_stack, enforcement_level=level, **facts)
    return ResourceValidationPolicy(validate=judge, enforcement_level=level, **facts)


def _report(rules: Sequence[Rule], verdict: str, stack: Sequence[Resource], report: ReportViolation) -> None:
    for rule, resource in product(rules, stack):
        for finding in rule.findings(resource, stack if rule.needs_stack else ()):
            if finding.verdict == verdict:
                report(f"{rule.rule_id} {finding.path}: {finding.message}\n  fix: {rule.remediation}", resource.urn)


def policies() -> list[Policy]:
    """Make all policies of the pack: one that stops for each rule, one that tells for what is not known yet."""
    rules = load()
    made = [
        _policy(
            [rule],
            "fail",
            EnforcementLevel.MANDATORY,
            name=rule.rule_id,
            description=f"{rule.rule_id}: {rule.title}",
            severity=Severity(rule.severity),
            remediation_steps=rule.remediation,
        )
        for rule in rules
    ]
    for name, needs_stack in (("unknown", False), ("unknown-in-stack", True)):
        asked = [rule for rule in rules if rule.needs_stack is needs_stack]
        said = "what is known at the update only is judged then"
        made.append(_policy(asked, "unknown", EnforcementLevel.ADVISORY, name=name, description=said))
    return made


if __name__ == "__main__":
    PolicyPack("railwright", policies(), enforcement_level=EnforcementLevel.MANDATORY)
