"""Rules are found by their files, and a broken one is named instead of passing."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from infra.errors import ConfigError
from policies import registry
from policies.field import Field, Finding
from policies.resource import Resource

POD = Resource("kubernetes:core/v1:Pod", "p", Field({"spec": {}}))


def module(**parts: object) -> ModuleType:
    """A rule module with some parts replaced; ``None`` leaves a part out."""
    made = ModuleType("rw_900_example")
    whole = {
        "RULE_ID": "RW-900",
        "SEVERITY": "high",
        "APPLIES_TO": (POD.type,),
        "TITLE": "t",
        "REMEDIATION": "r",
        "NEEDS_STACK": False,
        "check": lambda resource: iter(()),
    }
    for name, part in (whole | parts).items():
        if part is not None:
            setattr(made, name, part)
    return made


def broken(resource: Resource) -> Iterator[Finding]:
    """Find one thing, then break."""
    yield Finding("fail", "spec", "found before")
    raise KeyError(resource.name)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"REMEDIATION": None}, "REMEDIATION missing"),
        ({"RULE_ID": "GPU-1"}, "id 'GPU-1' is not like 'RW-201'"),
    ],
    ids=["part-missing", "bad-id"],
)
def test_a_rule_that_is_no_rule_is_refused(parts: dict[str, object], says: str) -> None:
    """A module that lacks a part stops the pack with its name, since a rule left out would pass silently."""
    with pytest.raises(ConfigError, match=says):
        registry.from_module(module(**parts))


def test_two_rules_with_one_id_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id names one rule for ever."""
    monkeypatch.setattr(registry.importlib, "import_module", lambda name: module())
    with pytest.raises(ConfigError, match="two rules have the id 'RW-900'"):
        registry.load()


def test_a_rule_that_breaks_fails_by_name_and_keeps_what_it_found() -> None:
    """An exception in a rule is a failure to be seen, not the end of the pack."""
    found = registry.from_module(module(check=broken)).findings(POD)
    assert [finding.verdict for finding in found] == ["fail", "fail"]
    assert "the rule itself broke with KeyError: 'p'" in found[1].message


def test_a_rule_judges_only_what_it_applies_to() -> None:
    """A resource of another type is never handed to the rule."""
    other = Resource("kubernetes:core/v1:Service", "s", Field({}))
    assert registry.from_module(module(check=broken)).findings(other) == []
