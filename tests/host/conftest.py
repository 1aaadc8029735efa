"""``pytest tests/host --inventory=ansible/inventory/lab``: a test for each setting of each host, on running machines.

Each ends in one of three ways; the whole with 0 when all passed, 1 when one failed, else 4 when one cannot be told.
Hosts are asked once for everything; with ``--slow`` each test asks for itself, by testinfra. Only reads.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from infra.errors import Unknown
from infra.plan.hosts import Check
from tests.host.suite import CANNOT_TELL, Subject, Suite
from tests.host.table import lines

SUITE = pytest.StashKey[Suite]()
"""The hosts of this session."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hosts")
    group.addoption("--inventory", metavar="PATH", help="inventory of Ansible whose hosts are proved")
    group.addoption("--slow", action="store_true", help="ask one question at a time, by testinfra")


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Without an inventory there is no host, and so no test."""
    return None if config.getoption("--inventory", None) else True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    config = metafunc.config
    if SUITE not in config.stash:
        config.stash[SUITE] = Suite(Path(config.getoption("--inventory")), is_slow=config.getoption("--slow"))
    suite = config.stash[SUITE]
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", suite.subjects, ids=str, indirect=True)
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", [host.name for host in suite.hosts])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After all that chooses tests: of a host that does not answer one line is told, not one for each setting."""
    suite = config.stash.get(SUITE, None)
    if suite is None or config.option.collectonly:
        return
    suite.meet({_host_of(item) for item in items})
    told: set[str] = set()
    kept = []
    for item in items:
        name = _host_of(item)
        if name not in suite.dark or name not in told:
            kept.append(item)
        told.add(name)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture
def suite(pytestconfig: pytest.Config) -> Suite:
    """The hosts of this session."""
    return pytestconfig.stash[SUITE]


@pytest.fixture
def check(request: pytest.FixtureRequest, suite: Suite) -> Check:
    """One setting of one host, judged; a setting that cannot be told never comes to its test."""
    subject: Subject = request.param
    return suite.check(subject)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(Unknown):
        report.longrepr, report.cannot_tell = str(call.excinfo.value), True
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return (CANNOT_TELL, "?", "CANNOT TELL") if getattr(report, "cannot_tell", False) else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give the worst outcome as exit status."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if SUITE in session.config.stash and reporter is not None and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
        failed = reporter.stats.get("failed", []) + reporter.stats.get("error", [])
        session.exitstatus = 1 if failed else 4


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    suite = config.stash.get(SUITE, None)
    if suite is not None and suite.checks:
        terminalreporter.section("hosts")
        for line in lines(suite):
            terminalreporter.write_line(line)


def _host_of(item: pytest.Item) -> str:
    parameters: dict[str, Any] = getattr(item, "callspec").params  # noqa: B009  of parametrized items only
    return parameters["check"].host.name if "check" in parameters else str(parameters["name"])
