"""Start, stop, pause or kill one part by name, on the host that it runs on.

Runs as ``part VERB NAME`` there, and prints in one word how the part stands then.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from infra.errors import CheckError, ConfigError, RailwrightError
from lab import paths
from lab.cluster import namespace, registry
from lab.cluster.lab import Lab, remembered, replace, this_clone
from lab.cluster.supervision import Process, Supervisor

Word = Literal["running", "starting", "stopped", "paused", "failing"]
"""How a part stands."""

WORDS: Mapping[str, Word] = {"RUNNING": "running", "STARTING": "starting", "STOPPED": "stopped", "STOPPING": "stopped"}
"""What supervisord's states mean; in all others the part ended and is about to be started again."""

SIGNALS: Mapping[str, str] = {"kill": "KILL", "pause": "STOP", "continue": "CONT"}
"""Verbs that are a signal to the part's main process."""

VERBS = ("start", "stop", "status", *SIGNALS)
"""All of them."""

TRUE_SECONDS = 30.0
"""How long a part may take until it stands as was asked (s): it has 15 to end before it is killed."""

POLL_SECONDS = 0.05
"""Pause between two looks (s)."""


def write_launcher(lab: Lab) -> None:
    """Put the program ``part`` beside the lab's other programs."""
    replace(lab.tools / "part", f'#!/bin/sh\nexec {shlex.quote(lab.python)} -P -m {__name__} "$@"\n', mode=0o755)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks; exit code 0 done, 1 it did not come true, 2 refused."""
    parser = argparse.ArgumentParser(prog="part", description="Start, stop, pause or kill one part of the lab.")
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("name", help="a part, as `lab status` names it")
    args = parser.parse_args(argv)
    try:
        network = remembered(paths.state_dir())
        if network is None:
            raise ConfigError("part — found no lab in this clone — one must run — run `lab up`")
        lab = this_clone(network)
        if (record := registry.living(lab)) and not lab.simulated:
            # Known only outside the lab, where processes have other numbers.
            command = [*namespace.prefix(record), str(lab.tools / "part"), args.verb, args.name]
            os.execvp(command[0], command)  # noqa: S606 - no shell is the point
        print(act(Supervisor(lab), args.verb, args.name))
    except RailwrightError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    return 0


def act(supervisor: Supervisor, verb: str, name: str) -> Word:
    """Make it true, look whether it is, and say how the part stands; what is true already is left alone.

    Raises:
        ConfigError: there is no such part, or it does not run and so takes no signal.
        CheckError: it does not stand as was asked after a while.
    """
    known = supervisor.processes()
    if name not in known:
        raise ConfigError(f"part — found no {name!r} — there are {', '.join(sorted(known))} — name one of them")
    before = known[name]
    if verb in SIGNALS:
        if before.pid == 0:
            raise ConfigError(f"{name} — is {word(before)} — only a running part takes a signal — start it first")
        supervisor.signal(name, SIGNALS[verb])
    elif verb == "start":
        supervisor.start(name)
    elif verb == "stop":
        supervisor.signal(name, "CONT")
        supervisor.stop(name)
    return word(_await(supervisor, name, _wanted(verb, before.pid)))


def _wanted(verb: str, pid: int) -> Callable[[Process], bool]:
    """What must be true of the part afterwards."""
    if verb == "kill":
        return lambda process: process.pid not in (0, pid)
    wanted: Mapping[str, tuple[Word, ...]] = {
        "start": ("running", "starting"),
        "continue": ("running", "starting"),
        "stop": ("stopped",),
        "pause": ("paused",),
    }
    return lambda process: verb == "status" or word(process) in wanted[verb]


def _await(supervisor: Supervisor, name: str, is_true: Callable[[Process], bool]) -> Process:
    deadline = time.monotonic() + TRUE_SECONDS
    while not is_true(process := supervisor.processes()[name]):
        if time.monotonic() > deadline:
            raise CheckError(f"{name} — is {word(process)} after {TRUE_SECONDS:.0f} s — read `lab logs {name}`")
        time.sleep(POLL_SECONDS)
    return process


def word(process: Process) -> Word:
    """How a part stands, in one word."""
    found = WORDS.get(process.state, "failing")
    return "paused" if found == "running" and is_paused(process.pid) else found


def is_paused(pid: int) -> bool:
    """True when a signal has stopped a process that goes on with another."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
