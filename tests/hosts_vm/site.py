"""The machines of ``lab vm up``, the playbooks played on them, and what they say."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.vm import accelerator
from tests.ansible.fakes.sandbox import Event, Run

REPO = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.prefix, "bin")
CALLBACKS = REPO / "tests/ansible/fakes/callback"
CONFIG = REPO / ".lab/vm/ssh_config"

LAB_SECONDS = 900
"""How long ``lab vm`` may take (s): the image is made once, machines boot without KVM."""


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``lab vm``."""
    argv = [str(SCRIPTS / "lab"), "vm", *words]
    return subprocess.run(argv, cwd=REPO, capture_output=True, text=True, check=False, timeout=LAB_SECONDS)


def ssh(name: str, command: str, *, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a shell command on a machine."""
    argv = ["ssh", "-F", str(CONFIG), name, command]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=timeout)


def read(name: str, command: str) -> str:
    """What a command on a machine prints.

    Raises:
        AssertionError: it failed.
    """
    done = ssh(name, command)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout.strip()


def verify(inventory: Path, host: str) -> list[dict[str, str]]:
    """Every setting of a host, as ``runbook run host/verify_host`` judges it."""
    argv = [str(SCRIPTS / "runbook"), "run", "host/verify_host", "--stack=lab", f"--inventory={inventory}"]
    done = subprocess.run(
        [*argv, f"--host={host}", "--json"], cwd=REPO, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.startswith("{"), done.stderr
    steps = json.loads(done.stdout)["steps"]
    found: list[dict[str, str]] = steps[-1]["facts"]["checks"]
    return found


@dataclass
class Plays:
    """Plays on the machines, with what each task did; their inventory is the lab's, with words for the command line."""

    folder: Path

    def __post_init__(self) -> None:
        shutil.copytree(REPO / "ansible/inventory/lab", self.inventory)
        file = self.inventory / "group_vars/pool_vm.yml"
        file.write_text(file.read_text() + yaml.safe_dump({"cpu_isolated": "1", "cpu_hugepages_2m": 16}))

    @property
    def inventory(self) -> Path:
        """Where it is."""
        return self.folder / "inventory"

    def start(self, playbook: str, *options: str, **variables: Any) -> subprocess.Popen[str]:
        """Begin a playbook of the clone; its events come to ``events``."""
        self.events.unlink(missing_ok=True)
        path = REPO / "ansible/playbooks" / f"{playbook}.yml"
        argv = [str(SCRIPTS / "ansible-playbook"), f"--inventory={self.inventory}", *options]
        argv += [f"--extra-vars={json.dumps(variables)}", str(path)]
        return subprocess.Popen(
            argv, cwd=REPO / "ansible", env=self._environment(), text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def play(self, playbook: str, *options: str, **variables: Any) -> Run:
        """Run a playbook to its end."""
        began = time.monotonic()
        with self.start(playbook, *options, **variables) as process:
            log = process.communicate()[0]
        events = self.told()
        took = time.monotonic() - began
        print(f"{playbook} {' '.join(options)}: {took:.0f} s, {len(events)} tasks, status {process.returncode}")
        return Run(process.returncode, events, log)

    def told(self) -> tuple[Event, ...]:
        """What tasks have done so far."""
        lines = self.events.read_text(encoding="utf-8").splitlines() if self.events.exists() else []
        return tuple(Event(**json.loads(line)) for line in lines)

    @property
    def events(self) -> Path:
        """Where the callback writes."""
        return self.folder / "events"

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ, "ANSIBLE_CONFIG": str(REPO / "ansible/ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACKS_ENABLED": "events", "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "RAILWRIGHT_EVENTS": str(self.events), "ANSIBLE_HOME": str(self.folder / "home"),
            # One connection for all tasks; it ends soon after the last one.
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=30s",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "ssh"),
            **_fast(),
        }  # fmt: skip


def _fast() -> Mapping[str, str]:
    """One Python per machine for all tasks of a play where each start of one takes seconds: without KVM."""
    if accelerator.choose() == "kvm":
        return {}
    found = importlib.util.find_spec("ansible_mitogen")
    assert found, "mitogen is not installed; make installs it"
    plugins = Path(str(found.origin)).parent / "plugins/strategy"
    return {"ANSIBLE_STRATEGY_PLUGINS": str(plugins), "ANSIBLE_STRATEGY": "mitogen_linear"}
