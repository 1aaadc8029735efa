"""A stack file as YAML: what Pulumi would read, and no entry lost on the way."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from infra.errors import ConfigError


class _Strict(yaml.SafeLoader):
    """YAML in which a name stands once; the plain loader keeps the last of two entries and drops the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} stands there twice", node.start_mark)
        return super().construct_mapping(node, deep)


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
