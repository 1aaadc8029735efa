"""What holds from boot: kernel command line, modules, sysctl files, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from infra.catalog.host_tuning.parsers.text import UNSET
from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown

SYSCTL_FOLDERS = ("/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d")
"""Where systemd looks; a file of a later folder hides those of its name in earlier ones. Source: sysctl.d(5)."""


def boot_word(texts: Texts, argument: str) -> dict[str, str]:
    """Value of a word of the kernel command line, itself when it has none; the last one counts, as for the kernel."""
    said = [word for text in texts.values() for word in text.split() if word.partition("=")[0] == argument]
    if not said:
        return {argument: UNSET}
    key, _, value = said[-1].partition("=")
    return {argument: value or key}


def boot_words(texts: Texts, argument: str) -> dict[str, str]:
    """All words of the kernel command line that are in force: of each key the last one."""
    said = {word.partition("=")[0]: word for text in texts.values() for word in text.split()}
    return dict(said)


def modules(texts: Texts, argument: str) -> dict[str, str]:
    """Names of the modules that are loaded, or built into the kernel that runs; with underscores for dashes."""
    release = texts.get("/proc/sys/kernel/osrelease", "").strip()
    found = [line.split()[0] for line in texts.get("/proc/modules", "").splitlines() if line.strip()]
    for line in texts.get(f"/lib/modules/{release}/modules.builtin", "").splitlines():
        found.append(PurePosixPath(line.strip()).name.partition(".")[0])
    if not found:
        raise Unknown("no module is listed")
    return {name.replace("-", "_"): name.replace("-", "_") for name in found}


def sysctl(texts: Texts, argument: str) -> dict[str, str]:
    """Live value of a sysctl, and the one that a file gives it at boot, each at its place."""
    found = {place: " ".join(text.split()) for place, text in texts.items() if place.startswith("/proc/sys/")}
    owner = boot_owner(texts, argument)
    if owner:
        found[f"{owner[0]} at boot"] = owner[1]
    return found


def boot_owner(texts: Texts, key: str) -> tuple[str, str] | None:
    """File that sets a sysctl at boot, and to what; None when no file names it.

    A later name wins over an earlier one, and a key that is spelled out over a glob. Source: sysctl.d(5).
    """
    plain: tuple[str, str] | None = None
    glob: tuple[str, str] | None = None
    for place in sorted(_in_force(texts), key=lambda name: PurePosixPath(name).name):
        for name, value in _assignments(texts[place]):
            if name == key:
                plain = place, value
            elif fnmatchcase(key, name):
                glob = place, value
    return plain or glob


def limits(texts: Texts, argument: str) -> dict[str, str]:
    """Soft and hard limit that limits.conf and limits.d give everybody; the last line of the last file counts.

    Argument: the item, and after a space the one kind that counts.

    Source: limits.conf(5): ``<domain> <type> <item> <value>``, type ``-`` is both.
    """
    item, _, kind = argument.partition(" ")
    found = dict.fromkeys((kind,) if kind else ("soft", "hard"), UNSET)
    for place in sorted(texts, key=lambda name: (name != "/etc/security/limits.conf", name)):
        for line in texts[place].splitlines():
            columns = line.partition("#")[0].split()
            if len(columns) == 4 and columns[0] == "*" and columns[2] == item:
                kinds = ("soft", "hard") if columns[1] == "-" else (columns[1],)
                value = "unlimited" if columns[3] in ("-1", "infinity") else columns[3]
                found.update({one: value for one in kinds if one in found})
    return found


def _in_force(texts: Texts) -> list[str]:
    """Files that no file of the same name in a later folder hides."""
    by_name: dict[str, str] = {}
    for folder in SYSCTL_FOLDERS:
        for place in texts:
            if str(PurePosixPath(place).parent) == folder:
                by_name[PurePosixPath(place).name] = place
    return list(by_name.values())


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = re.match(r"\s*-?\s*([^\s#;=]+)\s*=\s*(.*?)\s*$", line)
        if match:
            yield match[1].replace("/", "."), " ".join(match[2].split())
