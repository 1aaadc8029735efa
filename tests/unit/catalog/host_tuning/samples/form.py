"""The form of a sample: what a host says to each reading of a setting, once as it should be and once not."""

from __future__ import annotations

from collections.abc import Mapping

Said = str | Mapping[str, str] | None
"""Text of a command or of one file; texts by path; None: there is no such file or program."""

Sample = tuple[tuple[Said, ...], tuple[Said, ...]]
"""Right and wrong: one of each reading."""


def unit(**properties: str) -> str:
    """What `systemctl show` prints."""
    return "".join(f"{name}={value}\n" for name, value in properties.items())


ACTIVE = unit(LoadState="loaded", ActiveState="active")
INACTIVE = unit(LoadState="loaded", ActiveState="inactive")
NOT_FOUND = unit(LoadState="not-found", ActiveState="inactive")


def one(good: Said, bad: Said) -> Sample:
    """Of a setting with one reading."""
    return (good,), (bad,)


def policy(**versions: str) -> str:
    """What `apt-cache policy` prints, package to ``installed candidate``; underscores are dashes."""
    return "".join(
        f"{name.replace('_', '-')}:\n  Installed: {both.split()[0]}\n  Candidate: {both.split()[1]}\n  Version table:\n"
        f" *** {both.split()[0]} 100\n        100 /var/lib/dpkg/status\n"
        for name, both in versions.items()
    )
