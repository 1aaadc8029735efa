"""Variables of roles that are not what their specification says, and that Ansible lets pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MEANT = {
    "bool": "true or false",
    "int": "a number of 0 or more",
    "str": "a word",
    "list": "words",
    "dict": "words by name",
}
"""Type of a specification → what is meant. Every number of these roles is a count or a size."""


class FilterModule:
    """The filter of this file, as Ansible looks for it."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"variable_mistakes": variable_mistakes}


def variable_mistakes(given: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Variables that are of another type than they should be, a sentence each.

    Ansible takes what it can convert, and hands it to the role as it was: the text "false" would be true there.

    Args:
        options: of the role's argument_specs.
    """
    return [
        f"{name} is {_shown(value)} — {MEANT[options[name]['type']]} is meant — {_fix(value, name)}"
        for name, value in given.items()
        if not _fits(value, options[name]["type"], options[name].get("elements", ""))
    ]


def _fits(value: Any, kind: str, elements: str) -> bool:
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and value >= 0
    if kind == "list":
        return isinstance(value, list) and all(_fits(one, elements, "") for one in value)
    if kind == "dict":
        return isinstance(value, dict) and all(_fits(one, "str", "") for one in value.values())
    return isinstance(value, str | int)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"{str(value).lower()}, which YAML makes of {'yes and on' if value else 'no and off'},"
    return f"the text {value!r}" if isinstance(value, str) else repr(value)


def _fix(value: Any, name: str) -> str:
    if isinstance(value, str):
        return f'write it without quotes, or with -e as JSON: {{"{name}": …}}'
    return "put the word in quotes" if isinstance(value, bool) else "correct it"
