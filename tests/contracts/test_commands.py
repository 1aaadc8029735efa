"""What README and documents tell people to type exists: programs, verbs, options, stacks, drills, playbooks, files."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from infra import cli as infra_cli
from infra.errors import ConfigError
from lab import cli as lab_cli
from runbooks import cli as runbook_cli
from runbooks.engine.discover import load
from runbooks.engine.options import read_inputs
from tests.contracts.test_pages import KUBECTL
from tests.tools import pulumi

REPO = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPO / name for name in ("README.md", "CONTRIBUTING.md", "lab/tools/README.md")),
    *sorted((REPO / "docs").rglob("*.md")),
    *sorted((REPO / "ansible").rglob("README.md")),
    *sorted((REPO / "tests").rglob("README.md")),
]
SYSTEM = {"apt-get", "cat", "cd", "curl", "export"}
"""Programs of the machine, whose options are its own."""
MADE = (".lab", ".charts", ".venv", ".runs", "/", "~")
"""Starts of paths that only a run makes, or that are not in the clone."""

_FENCE = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE = re.compile(r"^python - <<'PY'\n(.*?)^PY$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_ASSIGNED = re.compile(r"^[A-Z_0-9]+=\S*\s+")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")


def blocks() -> Iterator[tuple[Path, str]]:
    """Every block of commands of every page."""
    for page in PAGES:
        yield from ((page, block) for block in _FENCE.findall(page.read_text(encoding="utf-8")))


def told() -> Iterator[tuple[Path, str, Path]]:
    """Every command of every block: the page, the command without what a shell makes of it, and where it runs."""
    for page, block in blocks():
        where = REPO
        for line in _HERE.sub("", block).replace("\\\n", " ").splitlines():
            for part in (*re.findall(r"\$\(([^)]*)\)", line), *re.split(r"\s(?:\||&&)\s|\s#\s", line)[:1]):
                command = _ASSIGNED.sub("", re.sub(r"\s#\s.*", "", part.strip()), count=1)
                if command.startswith("cd "):
                    where = REPO / command.removeprefix("cd ")
                elif command and not command.startswith(("eval", "#")):
                    yield page, command, where


def spans() -> Iterator[tuple[Path, str]]:
    """Everything that a page sets as code within its text."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        yield from ((page, span) for span in dict.fromkeys(_SPAN.findall(text)))


def targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def verbs(parser: argparse.ArgumentParser) -> set[str]:
    """Names of a parser's commands."""
    (group,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return set(group.choices)


@cache
def options_of(verb: tuple[str, ...]) -> set[str]:
    """Options that Pulumi itself has for a verb."""
    said = subprocess.run([pulumi(), *verb, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"pulumi {' '.join(verb)}" in said
    return set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", said))


def an_infra_command(words: list[str], where: Path) -> None:
    infra_cli.parser().parse_args(words)


def a_lab_command(words: list[str], where: Path) -> None:
    lab_cli.parser().parse_args(words)


def a_runbook_command(words: list[str], where: Path) -> None:
    given, unknown = runbook_cli._parser(words)[0].parse_known_args(words)
    if given.verb == "run":
        read_inputs(load(given.runbook), given, unknown)
        return
    assert not unknown
    if given.verb == "show":
        load(given.runbook)
    for name in given.name if given.verb == "drill" else ():
        assert (REPO / f"runbooks/drills/{name}.py").is_file()


def a_make_target(words: list[str], where: Path) -> None:
    assert set(words) <= targets()


def a_pulumi_command(words: list[str], where: Path) -> None:
    verb = tuple(word for word in words[: 2 if words[0] == "stack" else 1] if not word.startswith("-"))
    assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options_of(verb)


def a_kubectl_command(words: list[str], where: Path) -> None:
    kinds = KUBECTL["get"] | {yaml.safe_load((REPO / "lab/fleet/nodepool.yaml").read_text())["spec"]["names"]["plural"]}
    assert words[0] == "get"
    assert words[1] in kinds


def a_playbook(words: list[str], where: Path) -> None:
    for path in (word for word in words if "/" in word):
        assert (where / path).exists(), path
    for name, value in (word.split("=", 1) for word in words if "=" in word):
        known = [
            *(REPO / "ansible/roles").glob("*/meta/argument_specs.yml"),
            *(REPO / "ansible").glob("playbooks/*.yml"),
        ]
        assert any(name in path.read_text(encoding="utf-8") for path in known), f"{name}={value}"


def a_module(words: list[str], where: Path) -> None:
    assert words[0] == "-m"
    assert importlib.util.find_spec(words[1])


JUDGES: dict[str, Callable[[list[str], Path], None]] = {
    "infra": an_infra_command,
    "lab": a_lab_command,
    "runbook": a_runbook_command,
    "make": a_make_target,
    "pulumi": a_pulumi_command,
    "kubectl": a_kubectl_command,
    "ansible-playbook": a_playbook,
    "python": a_module,
}
"""Program → what its words must be."""


def named(value: object) -> str:
    return str(value.relative_to(REPO)) if isinstance(value, Path) else str(value)


@pytest.mark.parametrize(("page", "command", "where"), list(told()), ids=named)
def test_a_command_that_people_are_told_to_type_is_taken(page: Path, command: str, where: Path) -> None:
    """llm-d#2085, llm-d#808: the way in that the front page shows had not worked for weeks."""
    program, *words = shlex.split(command, comments=True)
    if program in SYSTEM:
        return
    JUDGES[program.rpartition("/")[2]](words, where)
    for stack in re.findall(r"(?:-s|--stack)[ =]([a-z][\w-]*)|Pulumi\.([\w-]+)\.yaml", command):
        assert (REPO / f"stacks/Pulumi.{''.join(stack)}.yaml").is_file()


@pytest.mark.parametrize(("page", "block"), [item for item in blocks() if _HERE.search(item[1])], ids=named)
def test_a_program_that_people_are_told_to_paste_compiles(page: Path, block: str) -> None:
    """And imports what is installed."""
    for text in _HERE.findall(block):
        compile(text, str(page), "exec")
        for module in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE):
            assert importlib.util.find_spec(module)


@pytest.mark.parametrize(
    ("page", "span"), [item for item in spans() if re.match(r"(infra|lab|runbook|make) [a-z]", item[1])], ids=named
)
def test_a_command_that_a_text_names_exists(page: Path, span: str) -> None:
    """As far as it is written out: the rest may be a placeholder."""
    program, verb, *_ = span.split()
    known = {
        "infra": verbs(infra_cli.parser()),
        "lab": verbs(lab_cli.parser()),
        "runbook": {*runbook_cli.OWN, *runbook_cli.ELSEWHERE},
        "make": targets(),
    }
    assert verb in known[program]
    if program == "runbook" and verb == "run" and (name := re.match(r"runbook run ([a-z_]+/[a-z_]+)", span)):
        load(name[1])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_file_that_a_page_names_is_there(page: Path) -> None:
    """Links, and paths that start at a folder of this clone or beside the page."""
    folders = {path.name for path in REPO.iterdir() if path.is_dir()}
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    for _, span in (item for item in spans() if item[0] == page):
        if _PATH.fullmatch(span) and span.split("/")[0] in folders and not span.startswith(MADE):
            missing += [] if any((root / span).exists() for root in (REPO, page.parent)) else [span]
    assert missing == []


@pytest.mark.parametrize(
    "command",
    ["infra plan --modell m", "lab upp", "runbook shaw x", "runbook show a/b", "runbook drill none", "make upp",
     "pulumi destroy --refreshed", "kubectl get nodepool", "ansible-playbook playbooks/none.yml",
     "python -m tests.none"],
)  # fmt: skip
def test_a_command_that_does_not_exist_is_seen(command: str) -> None:
    """Otherwise the tests above could not fail."""
    program, *words = command.split()
    with pytest.raises((SystemExit, AssertionError, ConfigError)):
        JUDGES[program](words, REPO)
