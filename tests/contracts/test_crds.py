"""The committed kinds of the Prometheus operator are those of the module that the lab's operator is built from."""

from __future__ import annotations

import pytest
import yaml

from lab.toolchain import crds
from lab.toolchain.golang import go_binary

FILES = sorted(crds.target().glob("*.yaml"))


def test_there_is_a_file_for_each_kind_that_is_used() -> None:
    """Each file holds the kind it is named for, and no other."""
    assert len(FILES) == crds.KINDS - len(crds.UNUSED)
    names = {file.stem: yaml.load(file.read_text(), yaml.CSafeLoader)["metadata"]["name"] for file in FILES}
    assert names == {name: f"{name}.monitoring.coreos.com" for name in names}


def test_committed_kinds_are_those_of_the_pinned_module() -> None:
    """A new version of the operator without its kinds, or an edit by hand, is noticed."""
    go = go_binary()
    module = crds.module(go) if go else None
    if module is None:
        pytest.skip("the operator's module is not in Go's cache; `python -m lab.toolchain.crds` brings it there")
    assert crds.render(module / crds.SOURCE) == {file.name: file.read_text() for file in FILES}


def test_a_property_called_description_stays() -> None:
    """Only the texts of a schema go, not what it says of an object that has a description itself."""
    schema = {"description": "of the schema", "properties": {"description": {"type": "string", "description": "of it"}}}
    assert crds.without_descriptions(schema) == {"properties": {"description": {"type": "string"}}}
