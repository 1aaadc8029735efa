"""Ansible plays on one host, by ansible-runner; what a play did is read from its events, not from its text."""

from __future__ import annotations

import json
import os
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import CheckError, ConfigError, Unknown

TIMEOUT_SECONDS = 1800
"""How long one play may take (s)."""


@dataclass(frozen=True, slots=True)
class Play:
    """What a play came to."""

    changed: int
    """Tasks that changed something, or would have (count)."""
    ok: int
    log: str


def play(root: Path, ssh_config: Path, playbook: str, host: str, variables: Mapping[str, Any], *, check: bool) -> Play:
    """Run one playbook on one host.

    Args:
        check: change nothing, only tell what would change.
    Raises:
        ConfigError: there is no such playbook.
        CheckError: a task failed.
        Unknown: the host is out of reach, or the play did not end in time.
    """
    import ansible_runner  # type: ignore[import-untyped]  # has no types

    path = root / playbook
    if not path.is_file():
        raise ConfigError(f"playbook {playbook!r} — is not in the clone — see: ls ansible/playbooks")
    with tempfile.TemporaryDirectory(prefix="railwright-play-") as folder:
        ran = ansible_runner.run(
            private_data_dir=folder,
            playbook=str(path),
            inventory={"all": {"hosts": {host: _connection(ssh_config)}}},
            limit=host,
            extravars=dict(variables),
            cmdline="--check --diff" if check else "--diff",
            envvars={
                "ANSIBLE_HOST_KEY_CHECKING": "True",
                "ANSIBLE_PIPELINING": "True",
                "ANSIBLE_CONFIG": str(root / "ansible" / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_HOME": folder,
                # A connection kept for later would outlive the run, and serve whoever names a host alike.
                "ANSIBLE_SSH_ARGS": "-o ControlMaster=no -o ControlPath=none",
                "PATH": os.pathsep.join([sysconfig.get_path("scripts"), *os.get_exec_path()]),
            },
            settings={"job_timeout": TIMEOUT_SECONDS, "idle_timeout": TIMEOUT_SECONDS},
            quiet=True,
        )
        log = Path(ran.stdout.name).read_text(errors="replace") if ran.stdout else ""
        stats = ran.stats or {}
    _judge(playbook, host, str(ran.status), stats, log)
    return Play(int(stats.get("changed", {}).get(host, 0)), int(stats.get("ok", {}).get(host, 0)), log)


def _connection(ssh_config: Path) -> Mapping[str, str]:
    if not ssh_config.is_file():
        return {}
    # One word: Ansible splits the arguments itself.
    return {"ansible_ssh_common_args": f"-F {json.dumps(str(ssh_config))} -o BatchMode=yes"}


def _judge(playbook: str, host: str, status: str, stats: Mapping[str, Any], log: str) -> None:
    who, end = f"play {playbook} on host {host}", " ".join(log.split()[-60:])
    if stats.get("dark", {}).get(host):
        raise Unknown(f"{who} — the host is out of reach — see: ssh {host}; the play ended with: {end}")
    if stats.get("failures", {}).get(host):
        raise CheckError(f"{who} — {stats['failures'][host]} tasks failed — the play ended with: {end}")
    if status != "successful" or not stats.get("processed", {}).get(host):
        raise Unknown(f"{who} — ended as {status!r} without a result for the host — it ended with: {end}")
