"""``lab vm``: machines of their own, whose kernels may be tuned, under this one."""

from __future__ import annotations

import argparse
import subprocess

from lab import paths
from lab.lock import only_one
from lab.progress import view
from lab.steps import Run
from lab.vm import operate


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    return {"up": _up, "down": _down, "status": _status, "ssh": _ssh}[args.what](args)


def _up(args: argparse.Namespace) -> int:
    with only_one(paths.state_dir() / "vm.lock"), view() as shown:
        Run(operate.steps(args.count), paths.state_dir() / "log" / "vm", shown).run()
    print("\n" + "\n".join(operate.as_lines(operate.status())))
    print("next: lab vm ssh vm-0, or from ansible/: ansible-playbook -i inventory/lab playbooks/validate.yml")
    return 0


def _down(args: argparse.Namespace) -> int:
    with only_one(paths.state_dir() / "vm.lock"):
        print("the machines are gone" if operate.down() else "there are no machines; `lab vm up` makes some")
    return 0


def _status(args: argparse.Namespace) -> int:
    found = operate.status()
    if args.json:
        print(operate.as_json(found))
    elif found:
        print("\n".join(operate.as_lines(found)))
    else:
        print("there are no machines; `lab vm up` makes some")
    return 0 if all(one.state == "up" for one in found) else 1


def _ssh(args: argparse.Namespace) -> int:
    return subprocess.run(operate.ssh(args.name, args.words), check=False).returncode
