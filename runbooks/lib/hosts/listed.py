"""Hosts as an Ansible inventory lists them: with the values that group and host variables put beside the catalogue."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from infra.catalog.host_tuning import SETTINGS
from infra.catalog.host_tuning.setting import Value
from infra.config.load import clone_root
from infra.errors import ConfigError, Unknown
from infra.plan.hosts import HostFacts, Rail

SECONDS = 120
"""How long Ansible may take to read an inventory (s); a thousand hosts take a few."""

VARIABLES = frozenset(setting.variable for setting in SETTINGS if setting.variable)
"""Variables that a setting's value comes from; others are of no matter here."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The hosts of an inventory and the way to them."""

    hosts: tuple[HostFacts, ...]
    ssh_config: Path
    """Need not exist."""
    local: frozenset[str] = frozenset()
    """Hosts that are this machine, by ``ansible_connection: local``."""

    def chosen(self, *, host: str = "", pool: str = "", leaf: str = "") -> tuple[HostFacts, ...]:
        """Hosts of a name, a pool and a leaf; empty words allow every host.

        Raises:
            ConfigError: there is none.
        """
        wants = {"host": host, "pool": pool, "leaf": leaf}
        found = tuple(
            one for one in self.hosts if host in ("", one.name) and pool in ("", one.pool) and leaf in ("", one.leaf)
        )
        if not found:
            said = ", ".join(f"{what} {word!r}" for what, word in wants.items() if word) or "inventory"
            raise ConfigError(f"{said} — has none of the {len(self.hosts)} hosts — see: ansible-inventory --graph")
        return found


def read(inventory: Path) -> Listed:
    """Read an inventory of Ansible, whatever its form.

    Raises:
        ConfigError: Ansible cannot read it, or a host's variables are not those of a host of ours.
        Unknown: Ansible does not end.
    """
    said = _ask(inventory)
    variables: Mapping[str, dict[str, Any]] = {
        name: _plain(one) for name, one in said.get("_meta", {}).get("hostvars", {}).items()
    }
    problems = [problem for name, one in variables.items() for problem in _problems(name, one)]
    if problems or not variables:
        raise ConfigError(*(problems or [f"inventory {str(inventory)!r} — lists no host — see: ansible-inventory"]))
    configs = {_ssh_config(one) for one in variables.values()}
    if len(configs) > 1:
        raise ConfigError(f"inventory {str(inventory)!r} — has several ssh configurations — verify each by itself")
    return Listed(
        tuple(_host(name, one) for name, one in variables.items()),
        configs.pop(),
        frozenset(name for name, one in variables.items() if one.get("ansible_connection") == "local"),
    )


def _ask(inventory: Path) -> Mapping[str, Any]:
    folder = clone_root() / "ansible"
    argv = ["ansible-inventory", "--inventory", str(inventory.resolve()), "--list"]
    scripts = os.pathsep.join([sysconfig.get_path("scripts"), *os.get_exec_path()])
    environment = {**os.environ, "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "PATH": scripts}
    who = f"inventory {str(inventory)!r}"
    if not inventory.exists():
        raise ConfigError(f"{who} — is not there — name a file or folder, such as ansible/inventory/lab")
    try:
        done = subprocess.run(
            argv, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Unknown(f"{who} — ansible-inventory has not ended after {SECONDS} s — see what it waits for") from error
    if done.returncode:
        raise ConfigError(f"{who} — {' '.join(done.stderr.split())[-1_000:]} — see: ansible-inventory --list")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _plain(value: Any) -> Any:
    """A value without the marks of Ansible's JSON; what is in a vault stays out."""
    if isinstance(value, dict):
        if "__ansible_unsafe" in value:
            return value["__ansible_unsafe"]
        return {key: _plain(one) for key, one in value.items() if not (isinstance(one, dict) and _VAULT in one)}
    return [_plain(one) for one in value] if isinstance(value, list) else value


_VAULT = "__ansible_vault"
_NEEDED = {"host_pool": "its pool", "host_board": "its board", "host_fabric": "its fabric"}


def _problems(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    for variable, what in _NEEDED.items():
        if not isinstance(said.get(variable), str):
            yield f"host {name!r} — {variable} does not say {what} — use the inventory of a stack (plugin railwright)"
    try:
        _rails(said)
    except (TypeError, AttributeError) as error:
        yield f"host {name!r} — rdma_rails — {error} — list interface, pci, address and gateway of each rail"
    for variable in sorted(VARIABLES & said.keys()):
        value = said[variable]
        if isinstance(value, bool) or not isinstance(value, int | str | list):
            yield f"host {name!r} — {variable} is {value!r}, a number or a word is meant — write words in quotes"
        elif "{{" in str(value):
            yield f"host {name!r} — {variable} is {value!r}, which is told in a play only — write its value"


def _host(name: str, said: Mapping[str, Any]) -> HostFacts:
    return HostFacts(
        name=name,
        pool=said["host_pool"],
        board=said["host_board"],
        fabric=said["host_fabric"],
        leaf=said.get("host_leaf", ""),
        machine="virtual" if said.get("host_machine") == "virtual" else "metal",
        kubernetes=said.get("kernel_settings_kubernetes", True) is True,
        address=said.get("ansible_host", ""),
        rack=said.get("host_rack", ""),
        rails=_rails(said),
        variables={variable: _value(said[variable]) for variable in VARIABLES & said.keys()},
    )


def _rails(said: Mapping[str, Any]) -> tuple[Rail, ...]:
    return tuple(
        Rail(**{key: str(value) for key, value in rail.items() if value is not None})
        for rail in said.get("rdma_rails", [])
    )


def _value(value: Any) -> Value:
    return tuple(map(str, value)) if isinstance(value, list) else value


def _ssh_config(said: Mapping[str, Any]) -> Path:
    """File behind ``-F`` in the arguments of ssh; without it the user's own."""
    words = shlex.split(str(said.get("ansible_ssh_common_args", "")))
    for option, value in pairwise(words):
        if option == "-F":
            return Path(value).expanduser()
    return Path("~/.ssh/config").expanduser()
