"""Commands over ssh: no question is ever asked, and a host whose key is not known is not spoken to."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import ConfigError, Unknown
from runbooks.lib.writing import Result

if TYPE_CHECKING:
    import paramiko

CONNECT_SECONDS = 10.0
"""How long a host may take to answer at all (s)."""

POLL_SECONDS = 0.02
"""Pause between two looks at a command that runs (s)."""


@dataclass
class Connections:
    """One connection per host, as an ssh configuration describes it."""

    config: Path
    _open: dict[str, paramiko.SSHClient] = field(default_factory=dict)

    def run(self, host: str, argv: Sequence[str], *, timeout: float, given: bytes = b"") -> Result:
        """Run a command and wait for its end.

        Args:
            timeout: longest time to the end (s).
            given: its standard input.
        Raises:
            ConfigError: the host's key is not known or has changed, or our key is refused.
            Unknown: no connection, or no end in time.
        """
        import paramiko

        who = f"host {host} — {shlex.join(argv)}"
        try:
            return self._run(who, self._client(host), argv, timeout, given)
        except (paramiko.SSHException, EOFError, OSError) as error:
            self.forget(host)
            raise Unknown(f"{who} — the connection broke ({error or type(error).__name__}) — see the host") from error

    def forget(self, host: str) -> None:
        """Close the connection to a host, so that the next command makes a new one."""
        client = self._open.pop(host, None)
        if client is not None:
            client.close()

    def _run(self, who: str, client: paramiko.SSHClient, argv: Sequence[str], timeout: float, given: bytes) -> Result:
        transport = client.get_transport()
        if transport is None:
            raise EOFError("closed")
        channel = transport.open_session(timeout=CONNECT_SECONDS)
        end = time.monotonic() + timeout
        try:
            channel.exec_command(shlex.join(argv))
            channel.sendall(given)
            channel.shutdown_write()
            out, err = bytearray(), bytearray()
            while True:
                is_over = channel.exit_status_ready()
                moved = _drain(channel, out, err)
                if is_over and not moved and (channel.eof_received or time.monotonic() > end):
                    break
                if not moved and time.monotonic() > end:
                    self.forget(who.split()[1])
                    raise Unknown(f"{who} — has not ended after {timeout:g} s — see the host")
                if not moved:
                    time.sleep(POLL_SECONDS)
            return Result(channel.recv_exit_status(), _text(out), _text(err))
        finally:
            channel.close()

    def _client(self, host: str) -> paramiko.SSHClient:
        found = self._open.get(host)
        transport = found.get_transport() if found else None
        if found is None or transport is None or not transport.is_active():
            self.forget(host)
            found = self._open[host] = self._connect(host)
        return found

    def _connect(self, host: str) -> paramiko.SSHClient:
        import paramiko

        options = self._options(host)
        address, port, user = str(options.get("hostname", host)), int(str(options.get("port", 22))), options.get("user")
        where = f"{address}:{port}"
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        known = Path(str(options.get("userknownhostsfile", "~/.ssh/known_hosts")).split()[0]).expanduser()
        if known.is_file():
            client.load_host_keys(str(known))
        keys = [str(Path(name).expanduser()) for name in options.get("identityfile", [])]
        try:
            client.connect(
                address, port, user, timeout=CONNECT_SECONDS,
                key_filename=keys or None,  # type: ignore[arg-type]  # several are fine, says paramiko
                banner_timeout=CONNECT_SECONDS, auth_timeout=CONNECT_SECONDS, look_for_keys=not keys,
                allow_agent=options.get("identitiesonly", "no") != "yes",
            )  # fmt: skip
        except paramiko.BadHostKeyException as error:
            client.close()
            raise ConfigError(f"host {host} — has another key than {known} has — find out why, first") from error
        except paramiko.AuthenticationException as error:
            client.close()
            raise ConfigError(f"host {host} — refuses our key for user {user!r} — see {self.config}") from error
        except paramiko.SSHException as error:
            client.close()
            if "not found in known_hosts" in str(error):
                raise ConfigError(f"host {host} — its key is not in {known} — check it, then add it") from error
            raise Unknown(f"host {host} — ssh to {where} fails ({error}) — see that sshd runs") from error
        except OSError as error:
            client.close()
            raise Unknown(f"host {host} — no ssh at {where} ({error}) — see that the host is up") from error
        return client

    def _options(self, host: str) -> Mapping[str, Any]:
        import paramiko

        if not self.config.is_file():
            return {}
        return paramiko.SSHConfig.from_path(str(self.config)).lookup(host)


def _drain(channel: paramiko.Channel, out: bytearray, err: bytearray) -> bool:
    """Take what has come; False when there was nothing."""
    moved = False
    while channel.recv_ready():
        out += channel.recv(65_536)
        moved = True
    while channel.recv_stderr_ready():
        err += channel.recv_stderr(65_536)
        moved = True
    return moved


def _text(data: bytearray) -> str:
    return data.decode(errors="surrogateescape")
