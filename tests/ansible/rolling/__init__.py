"""Playbooks on a machine of their own, with stand-ins for roles and for the program ``runbook``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
REPO = HERE.parents[2]
BOX = """
set -eu
mount -t tmpfs tmpfs /run
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/work" /etc
cd "$1/site"; shift
exec "$@"
"""
"""Runs first in a namespace of mounts: /run and /etc are the test's own, and gone with it."""
SHELL = """#!/bin/sh
mkdir -p /run/railwright "$ROLLING/run/{host}"
exec unshare --mount sh -c 'mount --bind "$0" /run/railwright && exec sh "$@"' "$ROLLING/run/{host}" "$@"
"""
"""Shell of one host: what waits there is its own."""
ROLES = yaml.safe_load((REPO / "ansible/roles/tune/defaults/main.yml").read_text(encoding="utf-8"))["tune_roles"]
OPTIONS = {
    "nvidia_driver_version": {"type": "str", "default": ""},
    **{
        f"{role}_drained": {"type": "bool", "default": False}
        for role in ("nvidia_driver", "rdma", "container_runtime", "kubelet")
    },
    "rdma_mtu": {"type": "int", "default": 4200},
    "rdma_rails": {"type": "list", "elements": "dict", "default": []},
    "rdma_fabric": {"type": "str", "choices": ["roce", "infiniband", "none"], "default": "none"},
    "kubelet_token": {"type": "str", "default": ""},
    "kubelet_memory_policy": {"type": "str", "default": "None"},
}
"""Variables of the stand-ins, each of the role that its name begins with."""

Hosts = Mapping[str, Mapping[str, Any]]
VARIABLES = {
    "ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3", "host_pool": "p",
    "host_fabric": "roce", "rdma_fabric": "roce",
    "wants_drain": "", "wants_reboot": "", "boots_in_vain": False, "fails": "",
}  # fmt: skip


class Site:
    """Hosts that are one machine under several names, the playbooks, and what happened in order."""

    def __init__(self, folder: Path, hosts: Hosts, *, in_cluster: bool = True) -> None:
        self.folder = folder
        for name in ("etc", "work", "ends", "site", "bin"):
            (folder / name).mkdir(parents=True)
        for source in ("playbooks", "roles/host_drain", "roles/host_reboot", "roles/tune"):
            for path in (REPO / "ansible" / source).rglob("*"):
                if path.suffix in (".py", ".yml"):
                    self._write(f"site/{path.relative_to(REPO / 'ansible')}", path.read_text(encoding="utf-8"))
        for role in ROLES:
            options = {name: said for name, said in OPTIONS.items() if name.startswith(f"{role}_")}
            defaults = {name: said["default"] for name, said in options.items()}
            self._write(f"site/roles/{role}/tasks/main.yml", (HERE / "role.yml").read_text(encoding="utf-8"))
            self._write(f"site/roles/{role}/defaults/main.yml", yaml.safe_dump(defaults))
            spec = {"argument_specs": {"main": {"options": options}}}
            self._write(f"site/roles/{role}/meta/argument_specs.yml", yaml.safe_dump(spec))
        self._write("site/roles/host_reboot/tasks/main.yml", (HERE / "reboot.yml").read_text(encoding="utf-8"))
        for host in hosts:
            self._write(f"bin/sh-{host}", SHELL.format(host=host), mode=0o755)
        self._write("site/inventory.yml", yaml.safe_dump(_inventory(folder, hosts)))
        # An environment of Python's own, so that the clone's `runbook` is not found beside the interpreter.
        (folder / "bin/python").symlink_to(Path(sys.prefix, "bin/python"))
        (folder / "lib").symlink_to(Path(sys.prefix, "lib"))
        self._write("pyvenv.cfg", Path(sys.prefix, "pyvenv.cfg").read_text(encoding="utf-8"))
        self._write("bin/runbook", (HERE / "runbook").read_text(encoding="utf-8"), mode=0o755)
        if in_cluster:
            self._write("etc/kubernetes/kubelet.conf", "")

    def _write(self, name: str, text: str, *, mode: int = 0o644) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def ends(self, runbook: str, host: str, code: int, said: str) -> None:
        """Have a runbook end so on a host."""
        self._write(f"ends/{runbook.replace('/', '_')}-{host}", f"{code} {said}")

    def refuses(self, role: str, tasks: str) -> None:
        """Give a role something to refuse."""
        self._write(f"site/roles/{role}/tasks/refuse.yml", tasks)

    def play(self, playbook: str, *options: str) -> tuple[int, str]:
        """Run a playbook: its exit status, and what it said."""
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", BOX, "box", str(self.folder), f"{self.folder}/bin/python",
             f"{sys.prefix}/bin/ansible-playbook", "--inventory=inventory.yml", f"playbooks/{playbook}.yml", *options],
            capture_output=True, text=True, check=False,
            env={"PATH": f"{self.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder),
                 "LC_ALL": "C.UTF-8", "ROLLING": str(self.folder), "ANSIBLE_HOME": str(self.folder / "home"),
                 "ANSIBLE_ROLES_PATH": "roles", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
                 "ANSIBLE_INJECT_FACT_VARS": "false", "ANSIBLE_LOCALHOST_WARNING": "false",
                 "ANSIBLE_PIPELINING": "true"},
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    @property
    def log(self) -> list[str]:
        """Roles, runbooks and reboots in order."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _inventory(folder: Path, hosts: Hosts) -> dict[str, Any]:
    """Groups as Railwright's inventory has them; a host's ``leaf`` is the group's."""
    leaves: dict[str, Any] = {}
    for name, one in hosts.items():
        own = {"ansible_host": name, "ansible_shell_executable": f"{folder}/bin/sh-{name}", **one}
        leaf = f"leaf_{own.pop('leaf', 0)}"
        leaves.setdefault(leaf, {"hosts": {}})["hosts"][name] = own
    alike = {name: {"children": {leaf: {} for leaf in leaves}} for name in ("pool_p", "role_gpu", "fabric_roce")}
    return {"all": {"vars": VARIABLES, "children": {**leaves, **alike}}}


def is_possible() -> bool:
    """Whether this machine lets us make such a box: root, and mounts of its own."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0
