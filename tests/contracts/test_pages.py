"""Every alert has a page, every page an alert; what the pages tell people to type is what the programs take."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.catalog.alerts import ALERTS
from infra.catalog.metrics import SERIES
from infra.config.load import clone_root
from infra.plan.rules import rules
from runbooks import cli
from runbooks.engine.discover import load
from runbooks.engine.options import read_inputs
from runbooks.lib.stack import Stack, names

PAGES = sorted((clone_root() / "runbooks").glob("*.md"))
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
LINES = range(12, 41)
"""Lines of a page: one screen."""

KUBECTL = {
    "get": {
        "pods", "deployments", "deployment", "nodes", "node", "events", "service", "networkpolicies", "pvc", "leases",
        "secret", "replicasets", "daemonsets", "statefulsets", "prometheusrules", "endpointslices",
    },
    "describe": {"pod", "node", "deployment", "service", "prometheusrule"},
    "logs": set(),
    "rollout": {"status", "history"},
    "top": {"pods", "nodes"},
    "cordon": set(),
    "uncordon": set(),
    "annotate": {"node", "pod"},
    "label": {"node", "pod"},
}  # fmt: skip
"""Verbs that pages may use and what may follow; none of them takes anything away."""

OTHERS = {"infra", "lab", "pulumi", "ssh", "curl", "promtool", "part"}
"""Programs beside runbook and kubectl that a page may call."""

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_METRIC = re.compile(r"(?<![\w:$])([a-zA-Z_][\w:]*)(?=\s*(?:\{|\[|$|\)|[-+*/<>=!]|\s))")
_WORDS = {"and", "or", "unless", "on", "ignoring", "group_left", "group_right", "by", "without", "offset", "bool"}


def fenced(page: Path, *kinds: str) -> list[str]:
    """Lines of a page's blocks of some kinds."""
    blocks = (body for kind, body in _FENCE.findall(page.read_text()) if kind in kinds)
    return [line for body in blocks for line in body.strip().splitlines()]


def told(program: str = "") -> Iterator[tuple[Path, str]]:
    """Every command of every page, placeholders filled in."""
    for page in PAGES:
        for line in fenced(page, "bash"):
            filled = re.sub(r"<[a-z_ -]+>", "x", line)
            if not program or filled.split()[0] == program:
                yield page, filled


def queries() -> list[tuple[Path, str]]:
    return [(page, line) for page in PAGES for line in fenced(page, "promql")]


def known_series() -> set[str]:
    """What exporters give and what the rules of any stack record."""
    recorded = {
        rule["record"]
        for name in names()
        for group in rules(Stack(name).plan)
        for rule in group["rules"]
        if "record" in rule
    }
    return recorded | set(SERIES)


def series_of(query: str) -> set[str]:
    """Metric names of an expression: what is neither label nor function nor word of the language."""
    bare = re.sub(r'"[^"]*"', '""', query)
    bare = re.sub(r"\{[^}]*\}", "{}", bare)
    bare = re.sub(r"\[[^\]]*\]", "[]", bare)
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", bare)
    return {name for name in _METRIC.findall(bare) if name not in _WORDS and not re.search(rf"\b{name}\s*\(", bare)}


def name(value: object) -> str:
    return value.stem if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_each_alert_has_a_page(alert: str) -> None:
    """The link in its notice leads somewhere."""
    assert (clone_root() / "runbooks" / f"{alert}.md").is_file()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_page_has_an_alert(page: Path) -> None:
    """No page answers what nobody asks."""
    assert page.stem in ALERTS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_headings_are_the_same_everywhere(page: Path) -> None:
    """Name, then Meaning, Impact, Diagnosis, Mitigation, on one screen."""
    text = page.read_text()
    assert re.findall(r"^# (.+)$", text, re.MULTILINE)[:1] == [page.stem]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert len(text.splitlines()) in LINES


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_runs_the_runbook_of_its_alert(page: Path) -> None:
    """The catalogue, the page and the runbook's own list of answers agree."""
    wanted = ALERTS[page.stem].runbook
    assert any(line.startswith(f"runbook run {wanted} ") for _, line in told("runbook") if _ == page)
    assert page.stem in load(wanted).answers


@pytest.mark.parametrize(("page", "line"), list(told("runbook")), ids=name)
def test_runbook_commands_parse(page: Path, line: str) -> None:
    """The real parser takes each command: runbook, options, choices and values."""
    words = shlex.split(line)[1:]
    if words[-1] == "--help":
        assert words[0] in (*cli.ELSEWHERE, *cli.OWN)
        return
    parser, _ = cli._parser(words)
    given, unknown = parser.parse_known_args(words)
    if given.verb == "run":
        read_inputs(load(given.runbook), given, unknown)
        assert given.stack in names()
    else:
        assert not unknown


@pytest.mark.parametrize(("page", "line"), list(told("kubectl")), ids=name)
def test_kubectl_commands_are_well_formed(page: Path, line: str) -> None:
    """A known verb, a known resource, a namespace where one is due; nothing that takes away."""
    words = shlex.split(line)[1:]
    verb, rest = words[0], [word for word in words[1:] if not word.startswith("-")]
    assert verb in KUBECTL, line
    if KUBECTL[verb]:
        assert rest, line
        wanted = [part for word in rest for part in re.split(r"[,/]", word)]
        assert KUBECTL[verb] & set(wanted), line
    if verb in ("logs", "rollout") or {"pods", "pod"} & set(rest):
        assert {"-n", "-A"} & set(words), line


@pytest.mark.parametrize(("page", "line"), list(told()), ids=name)
def test_no_page_calls_an_unknown_program(page: Path, line: str) -> None:
    """Pages use the programs that everyone on call has."""
    assert line.split(maxsplit=1)[0] in OTHERS | {"runbook", "kubectl"}


@pytest.mark.parametrize(("page", "query"), queries(), ids=name)
def test_series_in_queries_exist(page: Path, query: str) -> None:
    """Each metric is in the catalogue of exporters or made by a rule; a typo finds nothing and looks healthy."""
    assert series_of(query), query
    assert series_of(query) <= known_series()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    """Each relative link leads to a file."""
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    # A page of another alert is as good as there: test_each_alert_has_a_page asks for it.
    assert [link for link in missing if Path(link).stem not in ALERTS] == []


def test_a_misspelt_metric_is_seen() -> None:
    """The reading of expressions finds names among functions, labels and groupings."""
    query = 'sum by (code) (increase(envoy_typo{model="tiny", code=~"5.."}[5m])) / on (model) model:typo:rate offset 1h'
    assert series_of(query) == {"envoy_typo", "model:typo:rate"}
