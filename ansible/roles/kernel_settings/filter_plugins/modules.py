"""Kernel modules that files of modprobe.d keep from being loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class FilterModule:
    """The filter of this file, as Ansible looks for it."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"module_rivals": module_rivals}


def module_rivals(modules: Iterable[str], lines: Iterable[str], own: str) -> list[str]:
    """Files that keep a module of ours from being loaded, a sentence each.

    Args:
        lines: ``path:line`` of each line that begins with blacklist or install, as ``grep -H`` prints it.
        own: path of our file of modules-load.d.
    Source: modprobe.d(5); systemd-modules-load.service(8) heeds blacklist; an install of true or false loads nothing.
    """
    ours = {_plain(name) for name in modules}
    said = ((path, line.split()) for path, _, line in (line.partition(":") for line in lines))
    return [
        f"{path} says '{' '.join(words)}', and {own} loads {words[1]}"
        for path, words in said
        if len(words) > 1 and _plain(words[1]) in ours and _forbids(words)
    ]


def _forbids(words: list[str]) -> bool:
    return words[0] == "blacklist" or words[-1].rpartition("/")[2] in ("true", "false")


def _plain(name: str) -> str:
    """Of two names of one module."""
    return name.replace("-", "_")
