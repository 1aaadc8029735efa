"""The two programs of the fabric: ibsim in place of switches and NICs, opensm as its subnet manager."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from infra.errors import CheckError, ConfigError
from lab import paths
from lab.cluster import marks
from lab.commands import tail
from lab.ib.network import Network
from lab.packages import SYSTEM_FOLDERS, Package, absent, bring

MARK = "RAILWRIGHT_IB_OF_LAB"
"""Variable that both programs carry; its value is the lab's id."""

PACKAGES = (
    Package("ibsim-utils", "ibsim", "switches and NICs of the fabric"),
    Package("libumad2sim0", "usr/lib/*/umad2sim/libumad2sim.so", "programs on the fabric"),
    Package("opensm", "opensm", "its subnet manager"),
    Package("infiniband-diags", "ibnetdiscover", "looking at it"),
)
"""Those of `lab ib`."""

PATIENCE_SECONDS = 600.0
"""How long the subnet manager may take to set up every port (s): 2,048 hosts of eight rails take minutes."""

END_SECONDS = 5.0
"""How long the programs may take to end on their own (s)."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a fabric is (counts)."""

    stack: str
    hosts: int
    rails: int
    switches: int


def folder() -> Path:
    """Everything that it writes."""
    return paths.state_dir() / "ib"


def console() -> Path:
    """Pipe into ibsim's own commands, such as ``Unlink "H-0000001000000000"[1]``."""
    return folder() / "console"


def install(report: Callable[[str], None]) -> str:
    """Install what is missing.

    Raises:
        ConfigError: this machine is on a real fabric, on which Debian's opensm would start to rule.
    """
    if absent(PACKAGES) and any(_is_infiniband(path) for path in Path("/sys/class/infiniband").glob("*/ports/*")):
        names = ", ".join(package.name for package in absent(PACKAGES))
        raise ConfigError(
            f"machine — is on an InfiniBand fabric, and {names} missing — opensm starts when it is installed, and "
            "would be a second subnet manager there — install it by hand and disable it, or use another machine"
        )
    return bring(report, lambda: absent(PACKAGES))


def environment(first: str = "") -> dict[str, str]:
    """Variables of a program on the fabric.

    Args:
        first: id of the node that it is on; empty: the one that the running fabric has for that.
    """
    library = next(Path("/").glob(PACKAGES[1].proof))
    node = first or (folder() / "first").read_text()
    return {**_shared(), "LD_PRELOAD": str(library), "SIM_HOST": node, "OSM_TMP_DIR": str(folder()),
            "OSM_CACHE_DIR": str(folder())}  # fmt: skip


def up(network: Network, outputs: Mapping[str, object], size: Size, report: Callable[[str], None]) -> None:
    """Start both programs anew and wait until every port is active.

    Raises:
        CheckError: one of them ends, or the ports do not become active.
    """
    down()
    folder().mkdir(parents=True)
    for name, text in {
        "net": network.text,
        "first": network.switches[0].id,
        "outputs.json": json.dumps(outputs, indent=2),
        # Else it keeps for itself what it says, and nobody knows that it is ready.
        "opensm.conf": "force_log_flush TRUE\n",
        "size.json": json.dumps(asdict(size)),
    }.items():
        (folder() / name).write_text(text)
    os.mkfifo(console(), 0o600)
    try:
        _start(network, report)
    except BaseException:
        _end()
        raise


def down() -> bool:
    """End it and leave nothing; False when there was nothing."""
    was_there = bool(_end()) or folder().exists()
    shutil.rmtree(folder(), ignore_errors=True)
    return was_there


def size() -> Size | None:
    """Size of the fabric that was started; None: there is none."""
    with suppress(OSError):
        return Size(**json.loads((folder() / "size.json").read_text()))
    return None


def running() -> dict[str, int]:
    """Programs that run, by name, with their process ids."""
    found = {}
    for pid in marks.processes(MARK, paths.lab_id()):
        with suppress(psutil.NoSuchProcess):
            found[psutil.Process(pid).name()] = pid
    return found


def is_ready() -> bool:
    """Whether the subnet manager has set up every port."""
    log = folder() / "opensm.log"
    return log.exists() and "SUBNET UP" in log.read_text(errors="replace")


def _shared() -> dict[str, str]:
    path = f"{paths.search_path()}:{SYSTEM_FOLDERS}"
    # The socket's name is abstract: there is no file of it, and it goes with the program.
    return {"PATH": path, "HOME": str(folder()), "IBSIM_SOCKNAME": f"railwright-{paths.lab_id()}"}


def _start(network: Network, report: Callable[[str], None]) -> None:
    nodes, switches = len(network.switches) + len(network.nics), len(network.switches)
    # Open for reading and writing: it never ends, and ibsim ends when its input does.
    pipe = os.open(console(), os.O_RDWR)
    try:
        argv = ["ibsim", "-s", "-N", str(nodes + 1), "-S", str(switches + 1), "-P", str(network.ports + 1)]
        simulator = _spawn([*argv, str(folder() / "net")], _shared(), "ibsim.out", pipe)
    finally:
        os.close(pipe)
    _wait(lambda: "simulator ready" in _text("ibsim.out"), simulator, "ibsim.out")
    report(f"{nodes} nodes are there; the subnet manager looks at them")
    first = environment(network.switches[0].id)
    argv = ["opensm", "-F", str(folder() / "opensm.conf"), "-f", str(folder() / "opensm.log")]
    manager = _spawn(argv, first, "opensm.out", subprocess.DEVNULL)
    _wait(is_ready, manager, "opensm.log")


def _spawn(argv: list[str], env: dict[str, str], log: str, given: int) -> subprocess.Popen[bytes]:
    with (folder() / log).open("wb") as out:
        return subprocess.Popen(
            argv, stdin=given, stdout=out, stderr=subprocess.STDOUT, env={**env, MARK: paths.lab_id()},
            cwd=folder(), start_new_session=True,
        )  # fmt: skip


def _wait(is_done: Callable[[], bool], process: subprocess.Popen[bytes], log: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_done():
        if process.poll() is not None or time.monotonic() > end:
            how = f"ended with {process.returncode}" if process.returncode is not None else "is not ready in time"
            raise CheckError(f"{Path(str(process.args[0])).name} — {how} — see its log:\n{tail(folder() / log)}")  # type: ignore[index]  # a list
        time.sleep(0.1)


def _end() -> list[psutil.Process]:
    found = []
    for pid in marks.processes(MARK, paths.lab_id()):
        with suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    alive = found
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        _, alive = psutil.wait_procs(alive, timeout=END_SECONDS)
    return found


def _text(name: str) -> str:
    return (folder() / name).read_text(errors="replace")


def _is_infiniband(port: Path) -> bool:
    with suppress(OSError):
        return (port / "link_layer").read_text().strip() == "InfiniBand"
    return False
