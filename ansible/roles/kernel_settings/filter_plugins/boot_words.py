"""Words of the kernel command line: who else sets them, and what the next boot will have that this one lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

MENU = "/boot/grub/grub.cfg"
"""What GRUB boots by."""

OF_THE_IMAGE = ("BOOT_IMAGE", "root", "initrd")
"""Words that say what is booted, not how (of ``/proc/cmdline``)."""

REPLACED = re.compile(r"GRUB_CMDLINE_LINUX=(?!.*\$\{?GRUB_CMDLINE_LINUX\b)")
"""An assignment that keeps nothing of what earlier files said."""


class FilterModule:
    """The filters of this file, as Ansible looks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"boot_word_rivals": boot_word_rivals, "boot_words_due": boot_words_due, "boot_words": boot_words}


def boot_words(words: Mapping[str, Any]) -> list[str]:
    """Words as they stand on the command line."""
    return [f"{word}={value}" if str(value) else word for word, value in words.items()]


def boot_word_rivals(words: Mapping[str, Any], lines: Iterable[str], own: str) -> list[str]:
    """Why words of ours would not hold, a sentence each: no GRUB, or files that say otherwise.

    Args:
        lines: ``path:line`` of each line of GRUB's files that sets ``GRUB_CMDLINE_LINUX…``, and of each entry of its
            menu, as ``grep -H`` prints it.
    """
    wanted = boot_words(words)
    said = [(path, line) for path, _, line in (line.partition(":") for line in lines) if path != own]
    if not any(path == MENU for path, _ in said):
        return [
            f"has no entry in {MENU}, and {' '.join(wanted)} is to be on the kernel command line — GRUB alone is known "
            "here — install it, or have the image bring the words"
        ]
    found = [one for path, line in said if path != MENU for one in _rivals(wanted, path, line, own)]
    return [f"{one} — one owner — take it out of the former" for one in found]


def _rivals(wanted: list[str], path: str, line: str, own: str) -> Iterator[str]:
    for word in re.findall(r"[^\s\"'=]+(?:=[^\s\"']*)?", line.partition("=")[2]):
        for mine in wanted:
            if word.partition("=")[0] == mine.partition("=")[0] and word != mine:
                yield f"{path} sets {word}, and {own} sets {mine}"
    is_later = PurePosixPath(path).parent == PurePosixPath(own).parent and path > own
    if is_later and REPLACED.match(line):
        yield f"{path} replaces what {own} adds to GRUB_CMDLINE_LINUX"


def boot_words_due(menu: str, cmdline: str, pending: Iterable[str]) -> list[str]:
    """What a reboot would change of the command line, a sentence each.

    What the first entry has is to be there; what is there and in no entry is to go. Entries differ: images of clouds
    have one for a boot without initial RAM disk, which adds ``panic=-1``.

    Args:
        menu: content of ``grub.cfg``.
        cmdline: content of ``/proc/cmdline``.
        pending: words that the menu is about to get.
    """
    entries = [_how(words) for words in re.findall(r"^\s*linux\s+\S+(.*)$", menu, re.MULTILINE)] or [_how(cmdline)]
    now, known = _how(cmdline), {word for words in [*entries, pending] for word in words}
    said = (
        ("without", [word for word in [*entries[0], *pending] if word not in now]),
        ("with", [word for word in now if word not in known]),
    )
    return [f"the kernel was booted {how} {' '.join(dict.fromkeys(words))}" for how, words in said if words]


def _how(text: str) -> list[str]:
    return [word for word in text.split() if word.partition("=")[0] not in OF_THE_IMAGE and not word.startswith("$")]
