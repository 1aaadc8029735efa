"""Files that set kernel values at boot: which of several wins, and what one of ours has to say.

Texts are those of ``systemd-analyze cat-config``: each file that counts, in order, under its path as a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

Row = Mapping[str, Any]
"""One setting: its ``key``, its ``value``, and ``compare``: equals, at_least or at_most."""

HEADING = re.compile(r"# (/(?:etc|run|usr/lib|usr/local/lib|lib)/\S+\.conf)")
"""Line that names the file that follows."""

ASSIGNMENT = re.compile(r"\s*-?\s*([^\s#;=\[]+)\s*=\s*(.*?)\s*")
"""Source: sysctl.d(5); a dash before the key only says that failures are ignored."""


class FilterModule:
    """The filters of this file, as Ansible looks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"boot_rivals": boot_rivals, "sysctl_file": sysctl_file, "sysctl_wrong": sysctl_wrong}


def boot_rivals(rows: Iterable[Row], config: str, own: str) -> list[str]:
    """Files that come after ours and undo it, a sentence each.

    Args:
        own: path of our file, whether it is there yet or not.
    """
    name = PurePosixPath(own).name
    return [
        f"{path} sets {key} to {value}, and {own} sets it to {row['value']}"
        for row in rows
        for path, key, value in _said(config)
        if key == row["key"] and path != own and PurePosixPath(path).name > name and not _holds(row, value)
    ]


def sysctl_file(rows: Iterable[Row], live: str, config: str, own: str) -> list[Row]:
    """Sysctls that our file has to set: all but those that the host has better without it.

    What our file sets already stays in it: the live value may come from nowhere else.

    Args:
        live: output of ``sysctl KEY…``.
    """
    values, said = _values(live), list(_said(config))
    ours = {key for path, key, _ in said if path == own}
    return [row for row in rows if row["key"] in ours or not _is_left(row, values, said)]


def sysctl_wrong(rows: Iterable[Row], live: str) -> list[str]:
    """``key=value`` of each sysctl whose live value is not as wanted; a key that the kernel lacks is not among them."""
    values = _values(live)
    return [
        f"{row['key']}={row['value']}" for row in rows if row["key"] in values and not _holds(row, values[row["key"]])
    ]


def _is_left(row: Row, live: Mapping[str, str], said: list[tuple[str, str, str]]) -> bool:
    """Whether the host has more than the least, or less than the most, now and at the next boot."""
    if row.get("compare", "equals") == "equals" or row["key"] not in live or live[row["key"]] == str(row["value"]):
        return False
    after = [value for _, key, value in said if key == row["key"]]
    after = after or [value for _, key, value in said if fnmatchcase(row["key"], key)]
    return _holds(row, live[row["key"]]) and (not after or _holds(row, after[-1]))


def _holds(row: Row, found: str) -> bool:
    compare, wanted = row.get("compare", "equals"), " ".join(str(row["value"]).split())
    if compare == "equals" or not re.fullmatch(r"-?\d+", found):
        return found == wanted
    return int(found) >= int(wanted) if compare == "at_least" else int(found) <= int(wanted)


def _values(live: str) -> dict[str, str]:
    said = (line.partition("=") for line in live.splitlines())
    return {key.strip(): " ".join(value.split()) for key, equals, value in said if equals}


def _said(config: str) -> Iterator[tuple[str, str, str]]:
    """File, key and value of each assignment."""
    path = ""
    for line in config.splitlines():
        if heading := HEADING.fullmatch(line):
            path = heading[1]
        elif match := ASSIGNMENT.fullmatch(line):
            yield path, match[1].replace("/", ".") if "." not in match[1] else match[1], " ".join(match[2].split())
