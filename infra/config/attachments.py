"""Files that a stack names: a checkpoint's own config, the scores that allow a smaller format, machines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from infra.catalog.architecture import Architecture
from infra.config import stack_file
from infra.config.evidence import Evidence
from infra.config.machines import Machine
from infra.config.mistakes import explain
from infra.config.models import Model
from infra.config.pools import Pool
from infra.errors import ConfigError, Unknown

Scores = tuple[Evidence, ...]


def architectures(models: Mapping[str, Model], root: Path, problems: list[str]) -> dict[str, Architecture | Unknown]:
    """Read the ``config.json`` or ``params.json`` that models name: model to architecture, or why it cannot be told."""
    found: dict[str, Architecture | Unknown] = {}
    for name, model in models.items():
        if model.config is None:
            continue
        key = f"models.{name}.config"
        try:
            found[name] = _architecture(model.architecture, root / model.config)
        except ConfigError as error:
            problems += [f"{key}: {problem}" for problem in error.problems]
        except Unknown as error:
            found[name] = error
    return found


def evidence(models: Mapping[str, Model], root: Path, problems: list[str], today: date) -> dict[str, Scores]:
    """Read the scores that models name: model to scores; a score from a day to come was never measured."""
    found: dict[str, Scores] = {}
    for name, model in models.items():
        if model.evidence is None:
            continue
        key = f"models.{name}.evidence"
        try:
            written: Any = yaml.safe_load((root / model.evidence).read_text(encoding="utf-8"))
            scores = tuple(TypeAdapter(list[Evidence]).validate_python(written))
            found[name] = tuple(score for score in scores if score.date <= today)
            problems += [
                f"{key}: {model.evidence!r} scores {score.task!r} on {score.date}, and today is {today}; "
                "write the day on which it was measured"
                for score in scores
                if score.date > today
            ]
        except ValidationError as error:
            problems += [f"{model.evidence}: {said}" for said in explain(error, list[Evidence], (key,))]
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            problems.append(f"{key}: {model.evidence!r} {_unread(error)}")
    return found


def machines(pools: Mapping[str, Pool], root: Path, problems: list[str]) -> dict[str, tuple[Machine, ...]]:
    """Collect the machines that pools name, in place or in a file: pool to machines."""
    found = {name: pool.machines for name, pool in pools.items() if pool.machines}
    for name, pool in pools.items():
        if pool.machines_file is None:
            continue
        key = f"pools.{name}.machines_file"
        try:
            written: Any = stack_file.load_list((root / pool.machines_file).read_bytes())
            found[name] = tuple(TypeAdapter(list[Machine]).validate_python(written))
        except ValidationError as error:
            problems += [f"{pool.machines_file}: {said}" for said in explain(error, list[Machine], (key,))]
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            problems.append(f"{key}: {pool.machines_file!r} {_unread(error)}")
    return found


def _architecture(name: str, path: Path) -> Architecture:
    from infra.catalog.configs import read_file

    return read_file(path, name=name)


def _unread(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror}); name a file, relative to the clone"
    return f"is not YAML or JSON: {' '.join(str(error).split())}; write it as UTF-8 text"
