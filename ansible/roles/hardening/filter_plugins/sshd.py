"""Files of sshd: which of them speak before ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

MAIN = "/etc/ssh/sshd_config"
"""What sshd reads; it includes the folder of ours."""


class FilterModule:
    """The filter of this file, as Ansible looks for it."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"sshd_rivals": sshd_rivals}


def sshd_rivals(keywords: Mapping[str, Any], lines: Iterable[str], own: str) -> list[str]:
    """Lines that count instead of ours, a sentence each: the first that says something counts.

    Args:
        keywords: of sshd, with what our file says.
        lines: ``path:line`` of each line with one of them, Include or Match, as ``grep -H`` prints it.
    Source: sshd_config(5): for each keyword, the first obtained value will be used; Include, Match.
    """
    said = [(path, *line.split(maxsplit=1)) for path, _, line in (line.partition(":") for line in lines)]
    folder = own.rpartition("/")[0]
    before = _until_included([words for words in said if words[0] == MAIN], folder)
    if before is None:
        return [f"{MAIN} does not include {folder}, and {own} would not be read"]
    before += [words for words in sorted(said) if words[0].startswith(folder) and words[0] < own]
    wanted = {keyword.lower(): str(value) for keyword, value in keywords.items()}
    return [
        f"{path} sets {keyword} to {value.strip()}, and {own} sets it to {wanted[keyword.lower()]}"
        for path, keyword, value in before
        if keyword.lower() in wanted and value.strip().lower() != wanted[keyword.lower()]
    ]


def _until_included(lines: list[tuple[str, ...]], folder: str) -> list[tuple[str, ...]] | None:
    """Lines before the folder is included; None when it never is, or only for some."""
    for count, (_, keyword, value) in enumerate(lines):
        if keyword.lower() == "match":
            return None
        if keyword.lower() == "include" and value.startswith(f"{folder}/*"):
            return lines[:count]
    return None
