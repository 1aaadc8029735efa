"""Render supervisord's configuration, and talk to a running supervisord."""

from __future__ import annotations

import hashlib
import os
import xmlrpc.client
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import SupervisorTransport

from infra.errors import CheckError
from lab.cluster import marks
from lab.cluster.lab import SYSTEM_PATH, Lab
from lab.cluster.parts import Part, parts

STEADY_SECONDS = 5
"""A part that ends sooner counts as a failed start, and waits one second more before each next one (s)."""

MANY_STARTS = 100_000
"""Failed starts in a row before supervisord gives up (count): in practice never, for a lab must come back."""

SOCKET_PATH_MAX = 100
"""Longest path of the control socket (bytes): the kernel takes 107, and supervisord adds a suffix."""


@dataclass(frozen=True)
class Process:
    """What supervisord says about one part; times in s since the epoch, pid as the lab counts."""

    name: str
    state: str
    pid: int
    started: float
    reason: str


def environment(lab: Lab) -> dict[str, str]:
    """All variables that a part sees; nothing of the caller's, which may hold secrets."""
    return {
        "PATH": f"{lab.tools}:{Path(lab.python).parent}:{SYSTEM_PATH}",
        "HOME": str(lab.state),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        marks.PART: lab.lab_id,
    }


def inputs_of(lab: Lab, part: Part) -> str:
    """Digest of the files that a part reads; it changes exactly when the part must be started again."""
    digest = hashlib.sha256()
    for name in part.reads:
        path = lab.state / name
        digest.update(name.encode() + b"\0" + (path.read_bytes() if path.exists() else b"") + b"\0")
    return digest.hexdigest()[:16]


def configuration(lab: Lab) -> str:
    """The text of supervisord.conf."""
    user = "user=root\n" if os.geteuid() == 0 else ""
    head = f"""\
[supervisord]
nodaemon=true
identifier={lab.name}
logfile={lab.logs}/supervisord.log
logfile_maxbytes=5MB
logfile_backups=2
pidfile={lab.run}/supervisord.pid
{user}
[unix_http_server]
file={lab.control_socket}
chmod=0700

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{lab.control_socket}
"""
    return head + "".join(_program(lab, part, order) for order, part in enumerate(parts(lab), start=1))


def _program(lab: Lab, part: Part, order: int) -> str:
    command = " ".join(_quoted(word) for word in part.command)
    return f"""
[program:{part.name}]
command={command}
directory={lab.clone}
environment=RAILWRIGHT_INPUTS="{inputs_of(lab, part)}"
priority={order}
autorestart=true
startsecs={STEADY_SECONDS}
startretries={MANY_STARTS}
stopwaitsecs={part.stop_seconds}
redirect_stderr=true
stdout_logfile={lab.logs}/{part.name}.log
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
"""


def _quoted(word: str) -> str:
    """One word for supervisord, which expands ``%`` and ends a line's value at `` ;``."""
    escaped = word.replace("%", "%%")
    return f'"{escaped}"' if any(character in escaped for character in " ;\"'") else escaped


class Supervisor:
    """A running supervisord."""

    def __init__(self, lab: Lab) -> None:
        self._socket = lab.control_socket
        self._order = [part.name for part in parts(lab)]

    def _ask(self, method: str, *arguments: Any) -> Any:
        # A transport that once failed to connect never tries again, so each call gets its own.
        transport = SupervisorTransport(None, None, f"unix://{self._socket}")
        calls = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        return getattr(calls.supervisor, method)(*arguments)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return self._ask(method, *arguments)
        except (OSError, HTTPException, xmlrpc.client.Error) as error:
            raise CheckError(
                f"supervisord — {method} on {self._socket} failed with {error} — an answer was expected — "
                "see `lab doctor`"
            ) from error

    def is_answering(self) -> bool:
        """True when it takes orders."""
        try:
            return bool(self._ask("getState")["statename"] == "RUNNING")
        except (OSError, HTTPException, xmlrpc.client.Error):
            return False

    def processes(self) -> dict[str, Process]:
        """All parts that it knows, by name."""
        return {
            entry["name"]: Process(
                entry["name"], entry["statename"], entry["pid"], float(entry["start"]), entry["spawnerr"]
            )
            for entry in self._call("getAllProcessInfo")
        }

    def update(self) -> list[str]:
        """Take over a changed configuration; names of the parts that were started anew, in their order."""
        added, changed, removed = self._call("reloadConfig")[0]
        for name in (*removed, *sorted(changed, key=self._order.index, reverse=True)):
            self._call("stopProcessGroup", name)
            self._call("removeProcessGroup", name)
        fresh = sorted((*added, *changed), key=self._order.index)
        for name in fresh:
            self._call("addProcessGroup", name)
        return fresh

    def restart(self, name: str) -> None:
        """End one part and start it again."""
        self.stop(name)
        self.start(name)

    def start(self, name: str) -> None:
        """Start one part that was stopped."""
        if self.processes()[name].state == "STOPPED":
            self._call("startProcess", name, False)

    def signal(self, name: str, signal: str) -> None:
        """Send a signal, such as ``KILL``, to the main process of one part, if it has one."""
        if self.processes()[name].pid:
            self._call("signalProcess", name, signal)

    def resume(self) -> list[str]:
        """Start what was stopped, let go on what was paused; names of the former, in their order."""
        self._call("signalAllProcesses", "CONT")
        stopped = [name for name, process in self.processes().items() if process.state == "STOPPED"]
        for name in sorted(stopped, key=self._order.index):
            self.start(name)
        return stopped

    def stop(self, name: str) -> None:
        """End one part and keep it ended; one that a lab of an older edition does not have is ended already."""
        process = self.processes().get(name)
        if process and process.state in ("RUNNING", "STARTING", "BACKOFF"):
            self._call("stopProcess", name)
