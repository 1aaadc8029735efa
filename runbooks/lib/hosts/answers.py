"""All questions to a host in one round trip: a short program that changes nothing, and its answers as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infra.catalog.host_tuning.setting import Answer, Reading
from infra.errors import Unknown
from runbooks.lib.writing import Result

AS_ROOT = 'if [ "$(id -u)" = 0 ]; then exec python3 -c "$1" "$2"; else exec sudo -n python3 -c "$1" "$2"; fi'
"""Capabilities of PCI devices, the kernel's log and firmware tell nothing to others."""

Send = Callable[[Sequence[str], bytes], Result]
"""Runs a command on one host with a standard input."""


def ask_all(who: str, readings: Sequence[Reading], send: Send, root: str = "") -> Mapping[Reading, Answer]:
    """Ask a host everything at once.

    Args:
        who: the host, for messages.
        root: folder on the host that stands for its ``/``, as that of a mounted image; empty: the host itself.
    Raises:
        Unknown: it has no Python, no way to be root, or what it says is no answer.
    """
    asked = json.dumps([[reading.means.value, list(reading.ask)] for reading in readings]).encode()
    done = send(["sh", "-c", AS_ROOT, "ask", _program(), root], asked)
    if not done.is_ok:
        fix = "see that python3 is installed, and that our user is root or may sudo without a password"
        raise Unknown(f"host {who} — asking it ends with {done.rc}: {_last(done.stderr)} — {fix}")
    try:
        said: list[dict[str, Any]] = json.loads(done.stdout)
        return {reading: Answer(**one) for reading, one in zip(readings, said, strict=True)}
    except (ValueError, TypeError) as error:
        raise Unknown(f"host {who} — what it says is no answer ({error}) — see what prints at its login") from error


@cache
def _program() -> str:
    return Path(__file__).with_name("gather.py").read_text(encoding="utf-8")


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing said"])[-1]
