"""What a run knows of its stack without asking anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from infra.errors import ConfigError
from runbooks.lib import stack
from runbooks.lib.stack import Stack
from tests.unit.plan.specs import STACK, Sections, changed

KUBECONFIG = {
    "current-context": "b",
    "contexts": [{"name": "b", "context": {"cluster": "c"}}, {"name": "x", "context": {"cluster": "d"}}],
    "clusters": [
        {"name": "d", "cluster": {"server": "https://198.51.100.1:6443"}},
        {"name": "c", "cluster": {"server": "https://192.0.2.7:6443"}},
    ],
}


def _stack(folder: Path, sections: Sections = STACK) -> Stack:
    path = folder / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump({"config": {f"railwright:{name}": value for name, value in sections.items()}}))
    return Stack(str(path))


def test_a_stack_that_is_not_there_is_told_with_those_that_are() -> None:
    """By name, so that the right one can be chosen."""
    with pytest.raises(ConfigError, match=r"there are .*bare-b300, .*lab.* — name one"):
        stack.is_protected("no-such-stack")


def test_a_stack_is_read_by_name_or_by_path(tmp_path: Path) -> None:
    """A file elsewhere has its name from its file name."""
    assert _stack(tmp_path).name == "prod"
    assert Stack("lab").name == "lab"


@pytest.mark.parametrize("protected", [True, False])
def test_protection_is_what_the_file_says(tmp_path: Path, protected: bool) -> None:
    """Off unless asked for."""
    assert _stack(tmp_path, changed({"cluster/protected": protected})).protected is protected
    assert not _stack(tmp_path).protected


def test_a_broken_stack_is_told_whole(tmp_path: Path) -> None:
    """Each mistake, as at preview."""
    broken = _stack(tmp_path, {"cluster": {"name": "Prod", "target": "moon"}})
    with pytest.raises(ConfigError) as caught:
        _ = broken.plan
    assert len(caught.value.problems) > 2


def test_refusals_do_not_stop_an_incident(tmp_path: Path) -> None:
    """A plan that would be refused today still tells what should run."""
    plan = _stack(tmp_path, changed({"models/chat/replicas": 4000})).plan
    assert plan.refusals
    assert plan.served == ["chat"]


def test_the_api_server_is_that_of_the_current_context(tmp_path: Path) -> None:
    """Not the first in the file."""
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(KUBECONFIG))
    found = _stack(tmp_path, changed({"cluster/kubeconfig": str(tmp_path / "kubeconfig")}))
    assert found.api_host == "192.0.2.7"


def test_without_monitoring_its_usual_place_is_asked(tmp_path: Path) -> None:
    """By way of the API server, as no address is known."""
    assert _stack(tmp_path).monitoring("alertmanager") == ("", "monitoring/alertmanager:9093")
