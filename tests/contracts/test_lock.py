"""What is installed is what was locked, byte for byte, from wherever packages come."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
LOCK = (REPO / "requirements.lock").read_text(encoding="utf-8")
ENTRIES = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n", "", LOCK).strip())


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def test_every_requirement_is_one_version_with_hashes() -> None:
    """pip refuses whatever was not locked."""
    assert len(ENTRIES) > 20
    assert [
        entry.split()[0]
        for entry in ENTRIES
        if not re.match(r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==\S+", entry) or "--hash=sha256:" not in entry
    ] == []


def test_hashes_are_whole() -> None:
    """64 hex digits each."""
    assert [
        found for found in re.findall(r"--hash=(\S+)", LOCK) if not re.fullmatch(r"sha256:[0-9a-f]{64}", found)
    ] == []


def test_no_address_is_locked() -> None:
    """Each user's own registry or mirror serves the packages."""
    assert [
        line
        for line in LOCK.splitlines()
        if "://" in line or re.search(r"--(extra-)?index-url|--find-links", line.partition("#")[0])
    ] == []


def test_everything_the_project_asks_for_is_locked() -> None:
    """A dependency that was added without a new lock would be found on a user's machine only."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    assert {_name(item) for item in asked} - {_name(entry) for entry in ENTRIES} == set()
