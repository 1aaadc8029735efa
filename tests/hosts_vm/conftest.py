"""``pytest tests/hosts_vm -m hosts`` (``make test-hosts``): roles and playbooks on machines that really boot.

Two machines come up, and go when all is done. With ``--keep`` those that are up are taken as they are, and stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts_vm.site import Plays, lab


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("machines").addoption(
        "--keep", action="store_true", help="take machines that are up, let them stay"
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Not without being asked for: each machine takes a GiB and minutes of two processors."""
    return None if "hosts" in config.option.markexpr.split() else True


@pytest.fixture(scope="session")
def machines(pytestconfig: pytest.Config) -> Iterator[list[str]]:
    """Two bare machines that answer to ssh."""
    keep = pytestconfig.getoption("--keep")
    if not keep and lab("status").stdout.startswith("MACHINE"):
        pytest.exit("machines are up, and would be changed — `lab vm down` first, or --keep", returncode=2)
    up = lab("up", "2")
    assert up.returncode == 0, up.stdout + up.stderr
    yield ["vm-0", "vm-1"]
    if not keep:
        down = lab("down")
        assert down.returncode == 0, down.stdout + down.stderr


@pytest.fixture(scope="session")
def plays(machines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Plays:
    """Plays on these machines."""
    return Plays(tmp_path_factory.mktemp("plays"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of one test."""
    return tmp_path
