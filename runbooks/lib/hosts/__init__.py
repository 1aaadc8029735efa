"""Hosts from inside: commands over ssh, services by the target's own manager, plays by Ansible."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.lib.hosts.plays import Order, Place, Play, play
from runbooks.lib.hosts.services import Manager, PartManager, Systemd
from runbooks.lib.hosts.ssh import Connections
from runbooks.lib.stack import Stack
from runbooks.lib.writing import Result, may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

COMMAND_SECONDS = 60.0
"""How long a command may take unless told otherwise (s)."""


@dataclass
class Hosts:
    """The machines of one stack; each is reached as its ssh configuration says."""

    ctx: Context
    stack: Stack

    @cached_property
    def _connections(self) -> Connections:
        return Connections(self.stack.ssh_config)

    @cached_property
    def _manager(self) -> Manager:
        if self.stack.plan.target.name == "lab":
            return PartManager(str(self.stack.root / ".lab" / "bin" / "part"))
        return Systemd()

    def ask(self, host: str, argv: Sequence[str], *, timeout: float = COMMAND_SECONDS) -> Result:
        """Run a command that changes nothing; a dry run does so too.

        Raises:
            ConfigError: the host's key is not known, or ours not welcome.
            Unknown: the host does not answer, or not in time.
        """
        return self._connections.run(host, argv, timeout=timeout)

    def run(self, host: str, argv: Sequence[str], *, timeout: float = COMMAND_SECONDS) -> Result:
        """Run a command that may change something; a dry run says so and reports success."""
        if not may(self.ctx, f"run on host {host}: {shlex.join(argv)}"):
            return Result(0, "", "")
        return self.ask(host, argv, timeout=timeout)

    def put_file(self, host: str, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """Write a whole file, in one move, and read it back."""
        if not may(self.ctx, f"write {len(content)} bytes to {path} on host {host}"):
            return
        draft = f"{path}.railwright"
        script = 'umask 077 && cat > "$1" && chmod "$2" "$1" && mv -f "$1" "$3"'
        argv = ["sh", "-c", script, "put", draft, f"{mode:o}", path]
        done = self._connections.run(host, argv, timeout=COMMAND_SECONDS, given=content)
        if not done.is_ok:
            raise CheckError(f"host {host} — {path} cannot be written: {done.stderr.strip()} — see its disk")
        found = self.ask(host, ["cat", path])
        if found.stdout.encode(errors="surrogateescape") != content:
            raise CheckError(f"host {host} — {path} has other content than was written — see who writes it")

    def service(self, host: str, name: str, action: str) -> None:
        """Start, stop or restart a service, and see that it came about.

        Args:
            action: ``start``, ``stop``, ``restart``, ``kill``, ``pause`` or ``continue``.
        Raises:
            ConfigError: there is no such service or action.
        """
        steps = self._manager.steps(name, action)
        self.service_state(host, name)
        if not may(self.ctx, f"{action} {name} on host {host}"):
            return
        for argv in steps:
            done = self.ask(host, argv)
            if not done.is_ok:
                said = (done.stderr or done.stdout).strip()
                raise CheckError(f"host {host} — {action} {name} fails with {done.rc}: {said} — see its log")
        wanted = self._manager.after(action)
        self.ctx.until(
            lambda: self.service_state(host, name) in wanted,
            timeout=self._manager.patience,
            what=f"service {name} on host {host} is {' or '.join(wanted)}",
        )

    def service_state(self, host: str, name: str) -> str:
        """State of a service: ``running``, ``stopped``, ``starting``, ``failing`` or ``paused``.

        Raises:
            ConfigError: there is no such service.
            Unknown: its manager says something else.
        """
        done = self.ask(host, self._manager.status(name))
        found = self._manager.read(done)
        if found == "absent":
            raise ConfigError(f"host {host} — has no service {name!r}: {(done.stderr or done.stdout).strip()}")
        if not found:
            raise Unknown(f"host {host} — the state of {name!r} cannot be told from {done.stdout.strip()!r}")
        return found

    def play(self, playbook: str, hosts: Sequence[str], **variables: Any) -> Play:
        """Run an Ansible playbook on hosts of the stack, told to stop with the run; in a dry run with ``--check``.

        Its events and its text are kept with the record of the run.

        Args:
            playbook: path relative to the clone.
            variables: extra variables of the play; the record does not hold them.
        """
        acts = may(self.ctx, f"play {playbook} on {', '.join(hosts)}")
        inventory = {"plugin": "railwright", "stack_file": str(self.stack.file)}
        place = Place(self.stack.root, inventory, self.ctx.folder / "plays")
        order = Order(playbook, tuple(hosts), variables, check=not acts)
        return play(place, order, is_over=lambda: self.ctx.is_halted)
