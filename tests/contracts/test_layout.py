"""The repository keeps its shape: small files, a program without logic, no address or path of one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(
    r"https?://[^\s\"'<>]*(?:pypi|npmjs|/simple\b|goproxy|proxy\.golang|index-url)|--(?:extra-)?index-url[ =]\S+",
    re.IGNORECASE,
)
"""The address of a package registry, or an option that names one."""
HOME = re.compile(r"(?<![\w.$}])/(?:root|home(?!/kubernetes/bin)|work|Users)/(?!\.\.\.)[\w.]")
"""An absolute path that exists on one machine only."""
LOCKS = ("go.sum", "go.mod")
"""Files whose lines are other people's names."""


def _files() -> list[Path]:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    ended = subprocess.run(listed, cwd=REPO, capture_output=True, text=True, check=True)
    return [REPO / name for name in ended.stdout.split("\0") if name and (REPO / name).is_file()]


FILES = _files()
PYTHON = [path for path in FILES if path.suffix == ".py"]
STACKS = sorted((REPO / "stacks").glob("Pulumi.*.yaml"))


def _name(path: Path) -> str:
    return str(path.relative_to(REPO))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_the_program_is_forty_lines_at_most() -> None:
    """All thinking is elsewhere."""
    assert len(_text(REPO / "infra/__main__.py").splitlines()) <= 40


def test_no_python_file_is_longer_than_three_hundred_lines() -> None:
    """What is longer has two subjects."""
    assert {_name(path): size for path in PYTHON if (size := len(_text(path).splitlines())) > 300} == {}


@pytest.mark.parametrize("pattern", [ADDRESS, HOME], ids=["registry address", "absolute home path"])
def test_no_file_names_one_machine(pattern: re.Pattern[str]) -> None:
    """A clone works wherever it lies and wherever packages come from."""
    ours = [path for path in FILES if path != Path(__file__) and path.name not in LOCKS and "_vendor" not in path.parts]
    assert {_name(path): found[0] for path in ours if (found := pattern.search(_text(path)))} == {}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (ADDRESS, "--index-url https://a.b/c"),
        (ADDRESS, "https://pypi.a.b/simple"),
        (HOME, "/root/x"),
        (HOME, "'/home/me/x'"),
    ],
    ids=["option", "address", "root", "home"],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    """Otherwise the test above could not fail."""
    assert pattern.search(text)


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_stack_file_fits_on_a_screen(path: Path) -> None:
    """Sixty lines that say something; only what differs from defaults."""
    lines = [line for line in _text(path).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert (
        len(lines) <= 60 or len(yaml.safe_dump(yaml.safe_load(_text(path)), default_flow_style=None).splitlines()) <= 60
    )


def test_no_module_is_named_after_one_of_python_itself() -> None:
    """The language host puts infra/ on the path, where such a name would hide the original."""
    import sys

    names = {path.stem if path.is_file() else path.name for path in (REPO / "infra").iterdir()}
    assert names & set(sys.stdlib_module_names) - {"__main__", "__init__"} == set()


@pytest.mark.parametrize("word", ["manager", "helper", "util", "utils", "common", "misc"])
def test_no_module_is_named_for_nothing_in_particular(word: str) -> None:
    """A module is named for what it holds."""
    assert [_name(path) for path in PYTHON if word in path.stem.split("_")] == []
