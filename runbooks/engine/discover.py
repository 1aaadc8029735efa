"""Find runbooks: the path of a module is the name of its command, and its class is that name in CamelCase."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import runbooks
from infra.errors import ConfigError
from runbooks.engine.words import nearest

if TYPE_CHECKING:
    from runbooks.engine.model import Runbook

OWNER = "platform"
"""Who owns a runbook that does not say."""

_NO_AREAS = ("engine", "lib")
"""Folders that hold no runbooks."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A runbook as its source tells it, without running any of it."""

    command: str
    title: str
    owner: str
    answers: tuple[str, ...]


def commands() -> dict[str, Path]:
    """Find what can be run, with its file; modules with a leading underscore hold what an area's runbooks share."""
    found: dict[str, Path] = {}
    # Every folder of the package counts, so that a site can keep runbooks of its own beside ours.
    for root in map(Path, runbooks.__path__):
        for path in root.glob("*/*.py"):
            if path.parent.name not in _NO_AREAS and path.name[0] not in "_.":
                found.setdefault(f"{path.parent.name}/{path.stem}", path)
    return dict(sorted(found.items()))


def listed() -> Iterator[Listed]:
    """Yield every runbook; parsing costs a tenth of importing."""
    for command, path in commands().items():
        node = _class_node(path, class_name(command))
        if node is not None:
            told = dict(_constants(node))
            title = (ast.get_docstring(node) or node.name).splitlines()[0]
            answers = told.get("answers", ())
            owner = told.get("owner", OWNER)
            yield Listed(command, title, str(owner), tuple(map(str, answers)) if isinstance(answers, tuple) else ())


def answering(alert: str) -> list[str]:
    """List the runbooks that answer an alert."""
    return [one.command for one in listed() if alert in one.answers]


def load(command: str) -> type[Runbook]:
    """Import one runbook.

    Raises:
        ConfigError: there is none of this name, or its module holds no class of its name.
    """
    from runbooks.engine.model import Runbook

    known = commands()
    if command not in known:
        answers = answering(command)
        hint = f"it is an alert, answered by {', '.join(answers)}" if answers else nearest(command, known)
        raise ConfigError(f"runbook {command!r} — is not known — see `runbook list` — {hint}")
    module = importlib.import_module(f"runbooks.{command.replace('/', '.')}")
    found = getattr(module, class_name(command), None)
    if not (isinstance(found, type) and issubclass(found, Runbook)):
        raise ConfigError(
            f"runbook {command!r} — its module holds no class {class_name(command)} — a runbook's class is named "
            "after its module — rename one of them, or give shared code a leading underscore"
        )
    return found


def class_name(command: str) -> str:
    """Name the class of a command: ``serving/recover_engine`` is ``RecoverEngine``."""
    return "".join(part.capitalize() for part in command.rpartition("/")[2].split("_"))


def _class_node(path: Path, name: str) -> ast.ClassDef | None:
    tree = ast.parse(path.read_bytes(), str(path))
    return next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)


def _constants(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    """Yield what the class body sets to a literal."""
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                with suppress(ValueError):
                    yield target.id, ast.literal_eval(value)
