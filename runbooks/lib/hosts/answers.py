"""All questions to a host in one round trip: a short program that changes nothing, and its answers as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infra.catalog.host_tuning.setting import Answer, Reading
from infra.errors import Unknown
from runbooks.lib.writing import Result

PROGRAM = """\
import glob, json, subprocess, sys

def files(pattern):
    texts = {}
    for path in sorted(glob.glob(pattern)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[path] = file.read(1 << 20)
        except OSError as error:
            return {"error": path + ": " + (error.strerror or "cannot be read")}
    return {"texts": texts}

def command(argv):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=20, env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    except FileNotFoundError:
        return {"status": 127}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": argv[0] + ": " + str(error)}
    return {"texts": {"": done.stdout.decode(errors="replace")}, "status": done.returncode}

print(json.dumps([files(ask[0]) if means == "files" else command(ask) for means, ask in json.load(sys.stdin)]))
"""
"""Runs on any Python 3, which Ansible needs on a host anyway."""

Send = Callable[[Sequence[str], bytes], Result]
"""Runs a command on one host with a standard input."""


def ask_all(who: str, readings: Sequence[Reading], send: Send) -> Mapping[Reading, Answer]:
    """Ask a host everything at once.

    Args:
        who: the host, for messages.
    Raises:
        Unknown: it has no Python, or what it says is no answer.
    """
    asked = json.dumps([[reading.means.value, list(reading.ask)] for reading in readings]).encode()
    done = send(["python3", "-c", PROGRAM], asked)
    if not done.is_ok:
        raise Unknown(f"host {who} — python3 ends with {done.rc}: {_last(done.stderr)} — see that it is installed")
    try:
        said: list[dict[str, Any]] = json.loads(done.stdout)
        return {reading: Answer(**one) for reading, one in zip(readings, said, strict=True)}
    except (ValueError, TypeError) as error:
        raise Unknown(f"host {who} — what it says is no answer ({error}) — see what prints at its login") from error


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing said"])[-1]
