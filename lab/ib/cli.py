"""``lab ib``: a fabric of a stack's hosts to look at and to break."""

from __future__ import annotations

import argparse
import subprocess
import tempfile

from infra.errors import ConfigError
from lab import paths
from lab.ib import hosts, network, operate
from lab.lock import only_one


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    return {"up": _up, "down": _down, "status": _status, "run": _run}[args.what](args)


def _up(args: argparse.Namespace) -> int:
    said = hosts.of_stack(args.stack)
    every = list(hosts.ports(said))
    made = network.build(every)
    size = operate.Size(
        args.stack, len({port.host for port in every}), 1 + max(port.rail for port in every), len(made.switches)
    )
    with only_one(paths.state_dir() / "ib.lock"):
        operate.install(_say)
        operate.up(made, said, size, _say)
    print(_shown(size))
    where = operate.folder() / "outputs.json"
    print(
        f"next: lab ib run ibnetdiscover >net.txt, then runbook cables --outputs {where} --rate {network.RATE} net.txt"
    )
    return 0


def _down(args: argparse.Namespace) -> int:
    with only_one(paths.state_dir() / "ib.lock"):
        print("the fabric is gone" if operate.down() else "there is no fabric; `lab ib up STACK` makes one")
    return 0


def _status(args: argparse.Namespace) -> int:
    size, found = operate.size(), operate.running()
    if size is None and not found:
        print("there is no fabric; `lab ib up STACK` makes one")
        return 0
    if size:
        print(_shown(size))
    for name in ("ibsim", "opensm"):
        print(f"{name:<8}{f'runs as {found[name]}' if name in found else 'does not run'}")
    is_well = len(found) == 2 and operate.is_ready()
    print("every port that has a link is set up" if is_well else "it is not up; `lab ib up STACK` makes it anew")
    return 0 if is_well else 1


def _run(args: argparse.Namespace) -> int:
    if not args.words:
        raise ConfigError("lab ib run — names no program — name one, such as ibnetdiscover or iblinkinfo")
    if "ibsim" not in operate.running():
        raise ConfigError("lab ib run — there is no fabric — make one: lab ib up STACK")
    try:
        # The library that stands for the NIC's driver keeps files where it runs, and leaves them when it is killed.
        with tempfile.TemporaryDirectory(dir=operate.folder()) as folder:
            return subprocess.run(args.words, env=operate.environment(), cwd=folder, check=False).returncode
    except FileNotFoundError as error:
        raise ConfigError(f"lab ib run — there is no program {args.words[0]!r} — see its name") from error


def _shown(size: operate.Size) -> str:
    counts = f"{size.hosts} hosts, {size.rails} rails, {size.switches} switches"
    return f"stack {size.stack}: {counts}, all links {network.RATE}"


def _say(line: str) -> None:
    print(line, flush=True)
