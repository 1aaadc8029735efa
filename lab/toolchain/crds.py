"""Take the kinds of the Prometheus operator out of its pinned module: ``python -m lab.toolchain.crds``.

The files are committed, because the program that uses them runs where there is no Go. Descriptions are left out: they
are three quarters of the text, and would lie in the state of every stack.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.errors import CheckError, ConfigError, RailwrightError
from lab import paths
from lab.commands import run_logged
from lab.toolchain.golang import environment, go_binary, module_folder
from lab.toolchain.table import TOOLS, Tool

MODULE = "github.com/prometheus-operator/prometheus-operator"
"""The module that holds the kinds; its version is that of the operator the lab runs."""

SOURCE = "example/prometheus-operator-crd"
"""Folder in the module with one file for each kind."""

KINDS = 10
"""Kinds of the operator's group, monitoring.coreos.com (count)."""

UNUSED = ("prometheusagents.yaml", "thanosrulers.yaml")
"""Kinds that nothing of ours needs; the operator leaves out what has none."""


def target() -> Path:
    """Folder of the committed files."""
    return paths.repo_root() / "infra" / "components" / "crds" / "prometheus-operator"


def tool() -> Tool:
    """The tool whose pins hold the module."""
    return next(tool for tool in TOOLS if tool.name == "prometheus-operator")


def without_descriptions(schema: Any) -> Any:
    """A schema without its texts; a property that is itself called ``description`` stays."""
    if isinstance(schema, list):
        return [without_descriptions(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if not (key == "description" and isinstance(value, str))}
    return {key: without_descriptions(value) for key, value in kept.items()}


def render(source: Path) -> dict[str, str]:
    """The committed files by name, less the unused, made from the folder of the module.

    Raises:
        CheckError: the folder does not hold one file for each kind.
    """
    files = sorted(source.glob("monitoring.coreos.com_*.yaml"))
    if len(files) != KINDS:
        raise CheckError(f"{MODULE} — {len(files)} kinds in {SOURCE} — {KINDS} are known — compare its change log")
    named = {file.name.split("_", 1)[1]: file for file in files}
    return {name: _one(file) for name, file in named.items() if name not in UNUSED}


class _Loader(yaml.CSafeLoader):
    """Reads a plain ``=``, one of the matchers' operators, as the text it is; YAML 1.1 gave it a meaning of its own."""


_Loader.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)


def _one(file: Path) -> str:
    kind = without_descriptions(yaml.load(file.read_text(), _Loader))  # noqa: S506  # a safe loader
    origin = f"# From {MODULE} v{tool().version} (Apache-2.0), without descriptions.\n"
    return f"{origin}# Made by `python -m lab.toolchain.crds`.\n{yaml.dump(kind, Dumper=yaml.CSafeDumper, width=120)}"


def module(go: Path) -> Path | None:
    """Where Go keeps the module, or None when it was not downloaded yet."""
    folder = module_folder(go, tool(), MODULE)
    return folder if (folder / SOURCE).is_dir() else None


def main() -> int:
    """Write the files anew."""
    try:
        go = go_binary()
        if go is None:
            raise ConfigError("go — not found on PATH or in the cache — it fetches the module — run `lab up` once")
        log = paths.state_dir() / "logs" / "tools" / "crds.log"
        run_logged([str(go), "mod", "download", MODULE], log, print, env=environment(tool()), cwd=tool().pins)
        made = render(module_folder(go, tool(), MODULE) / SOURCE)
    except RailwrightError as error:
        print(error, file=sys.stderr)
        return 1
    target().mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (target() / name).write_text(text)
        print(f"{name:<28} {len(text) / 1024:7.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
