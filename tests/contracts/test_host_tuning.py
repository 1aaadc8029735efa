"""What is made of the catalogue of host settings is fresh: the table in the docs and the variables of roles."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from infra.catalog.host_tuning import ROLES, SETTINGS, Role
from infra.catalog.settings import SETTINGS as SEEN
from infra.catalog.settings import WATCHED
from infra.document.host_tuning import ROOT, written
from infra.document.role_variables import argument_specs, defaults, variables

WRITTEN = written()
EACH = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_made_of_the_catalogue_is_fresh(path: Path) -> None:
    """Run `python -m infra.document.host_tuning` after a change of the catalogue."""
    assert path.read_text(encoding="utf-8") == WRITTEN[path]


@EACH
def test_a_default_is_the_specification_s(role: Role) -> None:
    """Each variable once, with type, meaning and source; words that YAML takes for something else stay words."""
    said = yaml.safe_load(defaults(role))
    options = yaml.safe_load(argument_specs(role))["argument_specs"]["main"]["options"]
    assert said == {name: option["default"] for name, option in options.items()}
    assert list(said) == [one.name for one in variables(role)]
    kinds = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict}
    assert all(type(option["default"]) is kinds[option["type"]] for option in options.values())
    assert all(option["description"][1].startswith("Source: ") for option in options.values())


def test_what_monitoring_watches_is_in_the_catalogue() -> None:
    """With the same value, so that an alert and a check never disagree."""
    assert [one.key for one in SEEN] == list(WATCHED)
    values = {row.key: str(row.value) for row in SETTINGS if row.key}
    assert {one.key: str(one.least) for one in SEEN} == {key: values[key] for key in WATCHED}
