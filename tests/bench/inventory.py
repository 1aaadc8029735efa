"""How long an inventory of many hosts takes, from the files that people keep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from lab import paths
from tests.bench.watch import Timing


def listed(hosts: int) -> Timing:
    """``infra inventory --list`` of a stack file whose machines stand in a JSON file."""
    with tempfile.TemporaryDirectory() as folder:
        stack, size = write_stack(Path(folder), hosts), 0
        infra = str(Path(sys.executable).with_name("infra"))
        times = []
        for _ in range(3):
            seconds, size = _run([infra, "inventory", str(stack), "--list"], paths.repo_root())
            times.append(seconds)
    return min(times), f"best of 3, at most {max(times):.2f}; 8 rails a host, {size / 1e6:.1f} MB"


def parsed(hosts: int) -> Timing:
    """Ansible with the inventory plugin: from its start until it knows every host and group."""
    program = (
        "import sys; from ansible.parsing.dataloader import DataLoader; "
        "from ansible.inventory.manager import InventoryManager; "
        "print(len(InventoryManager(DataLoader(), [sys.argv[1]]).get_hosts()))"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "railwright.yml")
        source.write_text(yaml.safe_dump({"plugin": "railwright", "stack_file": str(write_stack(Path(folder), hosts))}))
        times = [_run([sys.executable, "-c", program, str(source)], paths.repo_root() / "ansible")[0] for _ in range(3)]
    return min(times), f"best of 3, at most {max(times):.2f}; with Ansible's own start"


def write_stack(folder: Path, hosts: int) -> Path:
    """Write the example of bare metal with as many machines."""
    machines = [
        {
            "name": f"h100-{host:04}",
            "address": f"10.0.{host // 250}.{host % 250 + 1}",
            "leaf": f"leaf-{host // 32}",
            "rails": [
                {
                    "interface": f"rail{rail}",
                    "pci": f"0000:{16 + rail:02x}:00.0",
                    "address": f"10.{100 + rail}.{host // 250}.{host % 250 + 2}/16",
                    "gateway": f"10.{100 + rail}.0.1",
                }
                for rail in range(8)
            ],
        }
        for host in range(hosts)
    ]
    (folder / "machines.json").write_text(json.dumps(machines), encoding="utf-8")
    stack = yaml.safe_load((paths.repo_root() / "stacks/Pulumi.bare-h100.yaml").read_text(encoding="utf-8"))
    pool = stack["config"]["railwright:pools"]["h100"]
    pool |= {"hosts": hosts, "hosts_per_leaf": 32, "machines_file": str(folder / "machines.json")}
    path = folder / "Pulumi.bench.yaml"
    path.write_text(yaml.safe_dump(stack), encoding="utf-8")
    return path


def _run(argv: Sequence[str], cwd: Path) -> tuple[float, int]:
    """Seconds, and how much was printed (bytes)."""
    start = time.monotonic()
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False, env=os.environ)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} failed with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return time.monotonic() - start, len(done.stdout)
