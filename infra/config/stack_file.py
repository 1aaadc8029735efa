"""A stack file as YAML: what Pulumi would read, and no entry lost on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from infra import fast_yaml
from infra.errors import ConfigError


class _EachOnce(yaml.constructor.SafeConstructor):
    """Mappings in which a name stands once; the plain ones keep the last of two entries and drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<")
        for name, count in names.items():
            if count > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} stands there twice", node.start_mark)
        return super().construct_mapping(node, deep)


class _Strict(_EachOnce, yaml.SafeLoader):
    """Its messages say best what is wrong."""


class _Fast(_EachOnce, fast_yaml.Loader):
    """Ten times as fast, for lists that programs write."""


def load_list(text: bytes) -> Any:
    """Read a long list of YAML or JSON.

    Raises:
        yaml.YAMLError: it is neither.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except ValueError:
        return yaml.load(text, Loader=_Fast)  # noqa: S506  a SafeLoader, only stricter


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise yaml.constructor.ConstructorError(None, None, f"{twice!r} stands there twice", None)
    return found


def read(path: Path) -> dict[str, Any]:
    """Read the mapping under ``config``.

    Raises:
        ConfigError: the file is not there, is not YAML, or has no such mapping.
    """
    who = f"stack file {str(path)!r}"
    try:
        content = yaml.load(path.read_bytes(), Loader=_Strict)  # noqa: S506  a SafeLoader, only stricter
    except OSError as error:
        raise ConfigError(f"{who} — cannot be read ({error.strerror}); check the path") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        raise ConfigError(f"{who} — is not YAML at {where}: {error.problem}; correct it there") from error
    except RecursionError as error:
        raise ConfigError(f"{who} — is nested deeper than any spec; write it as docs and stacks/ show") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{who} — is not YAML: {' '.join(str(error).split())}; write it as UTF-8 text") from error
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise ConfigError(f"{who} — has no mapping 'config'; put the spec under it")
    return {str(key): value for key, value in config.items()}
