"""A place to run the sample runbooks in, in this process or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import runbooks

SITE = Path(__file__).parent / "site"
if str(SITE) not in runbooks.__path__:
    runbooks.__path__.append(str(SITE))

from runbooks.engine import watch  # noqa: E402  the path above comes first
from runbooks.engine.discover import load  # noqa: E402
from runbooks.engine.result import Result  # noqa: E402
from runbooks.engine.run import Consent, Site, execute, resume, undo  # noqa: E402
from runbooks.engine.screen import Screen  # noqa: E402


class Heard(Screen):
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def line(self, kind: str, text: str) -> None:
        self.lines.append((kind, text))

    def text(self) -> str:
        return "\n".join(text for _, text in self.lines)


@dataclass
class Place:
    """A folder that runbooks write in, and the records of their runs."""

    root: Path
    screen: Heard

    @property
    def folder(self) -> Path:
        return self.root / "folder"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def site(self) -> Site:
        return Site(self.runs, screen=self.screen, actor="tester")

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def undo_log(self) -> list[str]:
        log = self.root / "undo.log"
        return log.read_text().split() if log.exists() else []

    def execute(self, *, yes: bool = True, book: str = "sample/write_files", **inputs: Any) -> Result:
        chosen = load(book)
        given = chosen.Inputs.model_validate(inputs if "file" in inputs else {"folder": self.folder, **inputs})
        return execute(chosen, given, stack="lab", site=self.site, consent=Consent(yes=yes, reason="a test"))

    def resume(self, run: str) -> Result:
        return resume(run, load=load, site=self.site)

    def undo(self, run: str) -> Result:
        return undo(run, load=load, site=self.site)

    def run_ids(self) -> list[str]:
        return sorted(path.parent.name for path in self.runs.glob("*/journal.jsonl"))

    def journal(self, run: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.runs / run / "journal.jsonl").read_text().splitlines()]

    def audit(self) -> list[dict[str, Any]]:
        path = self.runs / "audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Start the command line as a process."""
        settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **more}
        settings["env"] = {**os.environ, "RAILWRIGHT_RUNS": str(self.runs), **settings.get("env", {})}
        return subprocess.Popen([sys.executable, str(SITE / "run.py"), *words], **settings)

    def start_writing(self, *words: str, book: str = "sample/write_files", **more: Any) -> subprocess.Popen[str]:
        """Start a run that acts; it holds its lock in files."""
        common = ("--stack", "lab", "--folder", str(self.folder), "--yes", "--local-lock")
        return self.start("run", book, *common, *words, **more)

    def wait_for(self, name: str) -> None:
        wait_until(lambda: name in self.files())


def wait_until(holds: Callable[[], bool], within_s: float = 60) -> None:
    """Wait until it is so; fail when it takes too long."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "not so in time"
        time.sleep(0.02)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "folder").mkdir()
    return Place(tmp_path, Heard())


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Throw steps out at once."""
    monkeypatch.setattr(watch, "GRACE_S", 0.2)
