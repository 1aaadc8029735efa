"""Hands our rules to Pulumi: one mandatory policy per rule, one advisory for what is not known yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def _resource(given: ResourceValidationArgs | PolicyResource) -> Resource:
    return Resource(given.resource_type, given.name, Field(plain(given.props)), given.urn)


def _policy(rule: Rule, verdict: str) -> Policy:
    """Wrap one rule; a policy has one level, so what fails and what is unknown need one each."""

    def judge(args: ResourceValidationArgs, report: ReportViolation) -> None:
        _report(rule, verdict, _resource(args), (), report)

    def judge_stack(args: StackValidationArgs, report: ReportViolation) -> None:
        stack = [_resource(given) for given in args.resources]
        for resource in stack:
            _report(rule, verdict, resource, stack, report)

    facts: dict[str, Any] = {
        "severity": Severity(rule.severity),
        "remediation_steps": rule.remediation,
        "description": f"{rule.rule_id}: {rule.title}",
        "name": rule.rule_id,
        "enforcement_level": EnforcementLevel.MANDATORY,
    }
    if verdict == "unknown":
        facts |= {"name": f"{rule.rule_id}-unknown", "enforcement_level": EnforcementLevel.ADVISORY}
    if rule.needs_stack:
        return StackValidationPolicy(validate=judge_stack, **facts)
    return ResourceValidationPolicy(validate=judge, **facts)


def _report(rule: Rule, verdict: str, resource: Resource, stack: Sequence[Resource], report: ReportViolation) -> None:
    for finding in rule.findings(resource, stack):
        if finding.verdict == verdict:
            report(f"{finding.path}: {finding.message}\n  fix: {rule.remediation}", resource.urn)


def policies() -> list[Policy]:
    """Make all policies of the pack, in the order of their rules' ids."""
    return [_policy(rule, verdict) for rule in load() for verdict in ("fail", "unknown")]


if __name__ == "__main__":
    PolicyPack("railwright", policies(), enforcement_level=EnforcementLevel.MANDATORY)
