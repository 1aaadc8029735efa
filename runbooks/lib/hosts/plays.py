"""Ansible plays by ansible-runner; what a play did is read from its events, not from its text."""

from __future__ import annotations

import json
import os
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.errors import CheckError, ConfigError, Unknown

TIMEOUT_SECONDS = 1800
"""How long one play may take unless told otherwise (s)."""

SHOWN = 8
"""Hosts that a message names (count)."""


@dataclass(frozen=True, slots=True)
class HostPlay:
    """What a play came to on one host."""

    changed: int = 0
    """Tasks that changed something, or would have (count)."""
    ok: int = 0
    failed: tuple[str, ...] = ()
    """Tasks that failed and were not rescued, each with what it said."""
    dark: str = ""
    """Why the host was out of reach; empty when it was not."""


@dataclass(frozen=True, slots=True)
class Play:
    """What a play came to."""

    hosts: Mapping[str, HostPlay]
    log: str = field(repr=False)

    @property
    def changed(self) -> int:
        """Tasks that changed something, or would have, on all hosts together (count)."""
        return sum(one.changed for one in self.hosts.values())


@dataclass(frozen=True, slots=True)
class Place:
    """From where plays are run; hosts are reached as the inventory says, and only by keys that are known."""

    root: Path
    """The clone."""
    inventory: Mapping[str, Any]
    """What an inventory file of Ansible holds: hosts, or the configuration of a plugin."""
    keep: Path | None = None
    """Folder for the events and the text of each play; None: nothing is kept."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be played."""

    playbook: str
    """Path relative to the clone."""
    hosts: tuple[str, ...]
    """Those of the inventory that are meant."""
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of the play; they are in no file that is kept."""
    check: bool = True
    """Change nothing, only tell what would change."""
    timeout_s: int = TIMEOUT_SECONDS
    """Longest time to the end (s)."""


def play(place: Place, order: Order, *, is_over: Callable[[], bool] = lambda: False) -> Play:
    """Run one playbook on some hosts.

    Args:
        is_over: asked again and again; True ends the play.
    Raises:
        ConfigError: there is no such playbook, or no host.
        CheckError: a task failed.
        Unknown: a host is out of reach, or the play did not end in time.
    """
    if not (place.root / order.playbook).is_file():
        raise ConfigError(f"playbook {order.playbook!r} — is not in the clone — see: ls ansible/playbooks")
    if not order.hosts:
        raise ConfigError(f"playbook {order.playbook!r} — is given no host — name one")
    events, status, log = _run(place, order, is_over)
    done = read_events(events)
    _keep(place.keep, Path(order.playbook).stem, events, log)
    has_ended = any(one["event"] == _STATS for one in events)
    _judge(order, done, status if has_ended else f"{status}, without a sum", log)
    return Play(done, log)


_STATS = "playbook_on_stats"
_FAILED = ("runner_on_failed", "runner_item_on_failed")


def read_events(events: Iterable[Mapping[str, Any]]) -> dict[str, HostPlay]:
    """What became of each host, by the events that ansible-runner tells.

    A failure that a rescue took up is none; a host that was dark and ignored is told by its tasks alone.
    """
    said: dict[str, list[str]] = {}
    dark: dict[str, str] = {}
    stats: Mapping[str, Mapping[str, int]] = {}
    for one in events:
        data = one.get("event_data", {})
        if one["event"] in _FAILED and not data.get("ignore_errors"):
            said.setdefault(data["host"], []).append(f"{data.get('task', '')}: {_message(data.get('res', {}))}")
        elif one["event"] == "runner_on_unreachable":
            dark[data["host"]] = _message(data.get("res", {}))
        elif one["event"] == _STATS:
            stats = data

    def count(kind: str, name: str) -> int:
        return int(stats.get(kind, {}).get(name, 0))

    return {
        name: HostPlay(
            count("changed", name),
            count("ok", name),
            tuple(said.get(name, ["failed without a word"])) if count("failures", name) else (),
            dark.get(name, "no reason is told") if count("dark", name) else "",
        )
        for name in stats.get("processed", {})
    }


def _run(place: Place, order: Order, is_over: Callable[[], bool]) -> tuple[list[dict[str, Any]], str, str]:
    import ansible_runner  # type: ignore[import-untyped]  # has no types

    events: list[dict[str, Any]] = []
    # What the runner leaves behind holds the variables and our environment: nothing of it is kept.
    with tempfile.TemporaryDirectory(prefix="railwright-play-") as folder:
        # The name is how a plugin knows its own.
        inventory = Path(folder, "railwright.yml" if "plugin" in place.inventory else "hosts.yml")
        inventory.write_text(json.dumps(place.inventory))
        ran = ansible_runner.run(
            private_data_dir=folder,
            playbook=str(place.root / order.playbook),
            inventory=str(inventory),
            limit=",".join(order.hosts),
            extravars=dict(order.variables),
            cmdline="--check --diff" if order.check else "--diff",
            envvars=_environment(place, folder),
            settings={"job_timeout": order.timeout_s, "idle_timeout": order.timeout_s},
            event_handler=events.append,
            cancel_callback=is_over,
            quiet=True,
        )
        log = Path(ran.stdout.name).read_text(errors="replace") if ran.stdout else ""
    return events, str(ran.status), log


def _environment(place: Place, folder: str) -> Mapping[str, str]:
    return {
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_CONFIG": str(place.root / "ansible" / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": folder,
        # A connection kept for later would outlive the run, and serve whoever names a host alike.
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=no -o ControlPath=none -o BatchMode=yes",
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), *os.get_exec_path()]),
    }


def _keep(folder: Path | None, name: str, events: Sequence[Mapping[str, Any]], log: str) -> None:
    """Write down what happened; Ansible itself has blanked what tasks with no_log said."""
    if folder is None:
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{name}.events.jsonl").write_text("".join(f"{json.dumps(one, default=str)}\n" for one in events))
    (folder / f"{name}.log").write_text(log)


def _judge(order: Order, hosts: Mapping[str, HostPlay], status: str, log: str) -> None:
    who, count = f"play {order.playbook}", len(order.hosts)
    if failed := {name: one.failed[-1] for name, one in hosts.items() if one.failed}:
        raise CheckError(f"{who} — failed on {len(failed)} of {count} hosts — {_named(failed)}")
    if dark := {name: one.dark for name, one in hosts.items() if one.dark}:
        said = f"{len(dark)} of {count} hosts are out of reach — {_named(dark)}"
        raise Unknown(f"{who} — {said} — see: ssh {min(dark)}")
    if status != "successful":
        raise Unknown(f"{who} — ended as {status!r} — it ended with: {' '.join(log.split()[-60:])}")
    if missed := sorted(set(order.hosts) - hosts.keys()):
        raise Unknown(f"{who} — did nothing on {', '.join(missed[:SHOWN])} — it is not for them — see its hosts")


def _named(said: Mapping[str, str]) -> str:
    more = [f"and {len(said) - SHOWN} more"] if len(said) > SHOWN else []
    return "; ".join([*(f"host {name}: {text}" for name, text in sorted(said.items())[:SHOWN]), *more])


def _message(result: Mapping[str, Any]) -> str:
    """What a task said, in one line."""
    words = [str(result.get(key, "")) for key in ("msg", "stderr", "module_stderr")]
    return " ".join(next((text for text in words if text.strip()), "no reason is told").split())[:2_000]
