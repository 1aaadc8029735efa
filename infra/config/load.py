"""Config enters here and nowhere else: a stack file for the CLI, Pulumi's config for the program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from infra.config import archives, attachments, machines, stack_file
from infra.config.keys import shared_values, unknown_models
from infra.config.mistakes import closest, explain, nearest
from infra.config.stack import SECTIONS, Spec, Stack
from infra.errors import ConfigError

PROJECT = "railwright"
"""Namespace of our keys in Pulumi config; the project's name in Pulumi.yaml."""

_SEALED = "sealed-by-pulumi-{}-----------------------"
"""Stands for a secret that only ``pulumi`` can open, where its value is not needed."""


def clone_root() -> Path:
    """Folder of this clone; relative paths in a stack start here."""
    return Path(__file__).resolve().parents[2]


def from_file(path: Path, root: Path | None = None) -> Spec:
    """Read ``stacks/Pulumi.<stack>.yaml`` without Pulumi; secrets stay sealed.

    Raises:
        ConfigError: the file is not there, is not YAML, or is named otherwise.
    """
    if not path.exists():
        raise ConfigError(f"stack file {str(path)!r} — is not there; name one, such as stacks/Pulumi.lab.yaml")
    if not (path.name.startswith("Pulumi.") and path.suffix == ".yaml"):
        raise ConfigError(f"stack file {str(path)!r} — its name must be Pulumi.<stack>.yaml; rename it")
    return parse(path.stem.removeprefix("Pulumi."), _sections(stack_file.read(path)), root or clone_root())


def from_pulumi(stack: str, config: Mapping[str, str]) -> Spec:
    """Read the config that Pulumi hands to the program, secrets opened.

    Args:
        stack: name of the stack.
        config: full key to value; objects as JSON text.
    """
    values = {key: _decoded(text) for key, text in config.items()}
    spec = parse(stack, _sections(values), clone_root())
    if spec.stack is None:
        return spec
    missing, key_values = [], {}
    for name, key in spec.stack.keys.items():
        try:
            key_values[name] = key.read(Path(spec.root))
        except ConfigError as error:
            missing += [f"keys.{name}: {problem}" for problem in error.problems]
    missing += shared_values(key_values)
    return replace(spec, problems=(*spec.problems, *missing), key_values=key_values)


def pulumi_config() -> dict[str, str]:
    """Full config key to text, as the Pulumi engine hands it to the program."""
    from pulumi.runtime import config

    return {**config.get_config_env(), **config.CONFIG.get()}


def kubeconfig_path(spec: Spec) -> Path:
    """Kubeconfig of the spec's cluster.

    Raises:
        ConfigError: it is not where the spec or KUBECONFIG says.
    """
    named = (spec.stack.cluster.kubeconfig if spec.stack else "") or os.environ.get("KUBECONFIG", "~/.kube/config")
    path = Path(spec.root) / Path(named.split(os.pathsep)[0]).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"stack {spec.name!r} — there is no kubeconfig at {str(path)!r}; "
            "start the cluster (lab: `lab up`) or set cluster.kubeconfig or KUBECONFIG"
        )
    return path


def parse(name: str, sections: Mapping[str, Any], root: Path, today: date | None = None) -> Spec:
    """Validate each entry by itself, so that one mistake does not hide the others.

    Args:
        today: day after which nothing can have been measured; None: the clock's.
    """
    problems: list[str] = []
    parts: dict[str, Any] = {}
    mistaken: set[str] = set()
    written = _as_meant(sections, problems)
    for section, kind in SECTIONS.items():
        value = written.get(section)
        if value is None:
            if Stack.model_fields[section].is_required():
                problems.append(f"{section}: missing; add railwright:{section}")
                mistaken.add(section)
            continue
        if get_origin(kind) is dict and isinstance(value, Mapping):
            parts[section] = _entries(section, kind, value, problems)
            wrong = {entry: item for entry, item in value.items() if entry not in parts[section]}
            mistaken |= {f"{section}.{entry}" for entry in wrong}
            parts[section] |= _as_far_as_right(kind, wrong)
        elif (part := _valid(kind, value, (section,), problems)) is not None:
            parts[section] = part
        else:
            mistaken.add(section)
    parts |= {section: part for section in mistaken if (part := _stand_in(section, written.get(section))) is not None}
    whole = not any(info.is_required() and key not in parts for key, info in Stack.model_fields.items())
    stack = Stack.model_construct(**parts) if whole else None
    if stack is not None:
        problems += _references(stack, mistaken)
    has_lock, digests = _read_lock(stack, root, problems)
    models = stack.models if stack else {}
    architectures = attachments.architectures(models, root, problems)
    today = today or datetime.now(UTC).date()
    evidence = attachments.evidence(models, root, problems, today)
    problems += _prices_to_come(stack, today) if stack else ()
    hosts = attachments.machines(stack.pools if stack else {}, root, problems)
    problems += machines.mistakes(stack.pools, hosts, stack.cluster.target) if stack else ()
    problems += archives.mistakes(stack.charts, root) if stack else ()
    mistaken |= {f"models.{name}.evidence" for name, model in models.items() if model.evidence and name not in evidence}
    found = frozenset(mistaken)
    return Spec(name, stack, tuple(problems), found, str(root), digests, has_lock, architectures, evidence, hosts)


def _prices_to_come(stack: Stack, today: date) -> Iterator[str]:
    for board, price in stack.prices.items():
        if price.as_of > today:
            yield (
                f"prices.{board}.as_of: {price.as_of}, and today is {today}; "
                "write the day on which the price was true, none is known before its day"
            )


def _as_meant(sections: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Report each unknown section, and read it as the one it was meant for, which is then not missing as well."""
    known = list(SECTIONS)
    meant = {section: value for section, value in sections.items() if section in SECTIONS}
    for section, value in sections.items():
        if section not in SECTIONS:
            problems.append(f"{section}: no such key; {nearest(section, known)}")
            meant.setdefault(closest(section, known) or "", value)
    return meant


def _stand_in(section: str, value: Any) -> Any:
    """Stand in for a section that is missing or wrong, so that all the others are judged; None if nothing can."""
    target = value.get("target") if isinstance(value, Mapping) else None
    least: dict[str, Any] = {"cluster": {"name": "unread", "target": target}, "gateway": {"image": ""}}
    if section not in SECTIONS:
        return None
    try:
        return TypeAdapter(SECTIONS[section]).validate_python(least.get(section, {}))
    except ValidationError:
        return None


def _references(stack: Stack, mistaken: set[str]) -> Iterator[str]:
    """Yield what one entry says of another; an entry that is itself mistaken is not missing."""
    if "models" not in mistaken:
        wrong = {entry.partition(".")[2] for entry in mistaken if entry.startswith("models.")}
        yield from unknown_models(stack.keys, {*stack.models, *wrong})
    owners: dict[str, str] = {}
    for name, model in stack.models.items():
        claim = model.weights.claim
        if claim and (owner := owners.setdefault(claim, name)) != name:
            yield f"models.{name}.weights.claim: {claim!r} belongs to models.{owner}; each model has its own, rename it"


def _sections(config: Mapping[str, Any]) -> dict[str, Any]:
    ours = {key.removeprefix(f"{PROJECT}:"): value for key, value in config.items() if key.startswith(f"{PROJECT}:")}
    return {key: _sealed(value, key) for key, value in ours.items()}


def _sealed(value: Any, path: str) -> Any:
    """Put a stand-in where the file holds a secret that only Pulumi can open."""
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            return _SEALED.format(path.replace(".", "-"))
        return {key: _sealed(inner, f"{path}.{key}") for key, inner in value.items()}
    return value


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _entries(section: str, kind: Any, value: Mapping[Any, Any], problems: list[str]) -> dict[str, Any]:
    name_type, entry_type = get_args(kind)
    valid: dict[str, Any] = {}
    for name, entry in value.items():
        named = _valid(name_type, name, (section, str(name)), problems)
        parsed = _valid(entry_type, entry, (section, str(name)), problems)
        if named is not None and parsed is not None:
            valid[named] = parsed
    return valid


def _as_far_as_right(kind: Any, value: Mapping[Any, Any]) -> dict[str, Any]:
    """Read mistaken entries without the keys at fault, so that what refers to them is judged all the same."""
    name_type, entry_type = get_args(kind)
    read: dict[str, Any] = {}
    for name, entry in value.items():
        wanted = entry
        for _ in range(2):
            try:
                read[TypeAdapter(name_type).validate_python(name)] = TypeAdapter(entry_type).validate_python(wanted)
                break
            except ValidationError as error:
                faults = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
                wanted = (
                    {key: item for key, item in entry.items() if key not in faults} if isinstance(entry, dict) else {}
                )
    return read


def _valid(kind: Any, value: Any, where: tuple[str, ...], problems: list[str]) -> Any:
    try:
        is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
        return kind.model_validate(value) if is_model else TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        problems.extend(_once(explain(error, kind, where)))
        return None


def _once(sentences: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(sentences))


def _read_lock(stack: Stack | None, root: Path, problems: list[str]) -> tuple[bool, dict[str, str]]:
    if stack is None or not stack.images.lock:
        return False, {}
    path = root / stack.images.lock
    if not path.exists():
        return False, {}
    try:
        return True, TypeAdapter(dict[str, str]).validate_json(path.read_bytes())
    except OSError as error:
        problems.append(f"images.lock: {stack.images.lock!r} cannot be read ({error.strerror}); name a file")
    except ValidationError:
        problems.append(f"images.lock: {stack.images.lock!r} is not JSON of the form {{image: digest}}; write it anew")
    return False, {}
