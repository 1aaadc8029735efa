"""Bring the lab up: everything already true is left alone, and each step may be cut off and run again."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path

from infra.errors import CheckError, ConfigError
from lab import paths
from lab.cluster import (
    access,
    cgroups,
    configs,
    leftovers,
    namespace,
    network,
    operate,
    pki,
    prerequisites,
    registry,
    ssh,
    watch,
)
from lab.cluster.health import complaint
from lab.cluster.hosts import Host
from lab.cluster.lab import Lab, remember, remembered, replace, this_clone
from lab.cluster.network import Network, Ports
from lab.cluster.parts import parts
from lab.cluster.registry import Record
from lab.cluster.supervision import Supervisor, configuration

Report = Callable[[str], None]
"""Told what is being done: one short line, replaced by the next."""

PART_SECONDS = 180.0
"""Longest wait for one part to work (s): the API server takes 40 on two busy cores."""

GRANT_SECONDS = 60.0
"""Longest wait for roles to be taken (s): two of the API server's own time-outs of 30 s fit."""

NODE_SECONDS = 120.0
"""Longest wait for a real host to be Ready (s)."""

POLL_SECONDS = 0.3
"""Pause between two looks (s)."""


def start(report: Report, *, simulated: bool = False) -> Lab:
    """Make the lab of this clone run and work.

    Args:
        report: told each step.
        simulated: control plane and simulated hosts only; needs no root and no cgroups.
    Raises:
        ConfigError: something is missing, or it runs as the other kind.
        CheckError: a part does not come up.
    """
    lab, record = bring_up(report, simulated=simulated)
    for name in Supervisor(lab).resume():
        report(f"{name} started again, it had been stopped")
    await_parts(lab, record, report)
    for host in lab.hosts:
        await_node(lab, host, report)
    return lab


def bring_up(report: Report, *, simulated: bool) -> tuple[Lab, Record]:
    """Start the lab's processes, without waiting for them to work."""
    with watch.held(paths.state_dir() / "run/start.lock"):
        running = registry.read(paths.lab_id())
        if running and running.is_alive and running.simulated != simulated:
            raise ConfigError(
                f"lab {running.lab_id} — runs as a {'simulated' if running.simulated else 'full'} lab — "
                "one clone has one lab — run `lab down` first"
            )
        return make_it_run(report, simulated=simulated)


def make_it_run(report: Report, *, simulated: bool) -> tuple[Lab, Record]:
    """The same, for a caller that holds the start lock."""
    for leftover in leftovers.clean(own=paths.lab_id()):
        report(f"removed {leftover.kind} {leftover.name} of dead lab {leftover.lab_id}")
    lab = describe(simulated=simulated)
    if problems := prerequisites.problems(lab):
        raise ConfigError(*problems)
    write_files(lab, report)
    record = registry.living(lab)
    if record is None:
        record = begin(lab, report)
    else:
        if not simulated and not namespace.is_linked(lab.link):
            report("making its link again")
            namespace.connect(lab, record.pid)
        for name in Supervisor(lab).update():
            report(f"{name} started anew, its configuration changed")
    if record.wanted != "up":
        registry.write(changed(record, wanted="up"))
    watch.ensure(lab)
    return lab, record


def describe(*, simulated: bool) -> Lab:
    """The lab of this clone with its addresses: those of the last start where they are still free."""
    lab_id, kept = paths.lab_id(), remembered(paths.state_dir())
    usable = kept if kept and kept.simulated == simulated else None
    running = registry.read(lab_id)
    if usable and running and running.is_alive:
        return this_clone(usable)
    if simulated:
        first = network.choose_ports(lab_id, usable.ports.etcd if usable else None)
        return this_clone(Network(next(network.octets(lab_id)), True, Ports.on_loopback(first)))
    others = [Network(record.octet) for record in registry.read_all() if record.lab_id != lab_id]
    taken = [*namespace.networks_in_use(but_not=f"rw-{lab_id}"), *(str(other.whole) for other in others)]
    return this_clone(Network(network.choose_octet(lab_id, taken, usable.octet if usable else None)))


def write_files(lab: Lab, report: Report) -> None:
    """Certificates and configuration, written only where they differ."""
    for folder in (lab.state, lab.logs, lab.run, lab.config):
        folder.mkdir(parents=True, exist_ok=True)
    lab.run.chmod(0o700)
    remember(lab)
    if made := pki.ensure(lab, datetime.now(UTC)):
        report(f"made {len(made)} certificates")
    secret = lab.pki / "encryption.key"
    if not secret.exists():
        replace(secret, base64.b64encode(secrets.token_bytes(32)).decode())
    hugetlb = "hugetlb" in cgroups.controllers()
    for name, text in configs.files(lab, secret.read_text(), hugetlb).items():
        replace(lab.config / name, text)
    for client in configs.clients(lab):
        replace(lab.config / f"{client}.kubeconfig", configs.kubeconfig(lab, client))
    replace(lab.kubeconfig, configs.kubeconfig(lab, "admin"))
    if not lab.simulated:
        ssh.ensure(lab)
    operate.write_launcher(lab)
    replace(lab.config / "supervisord.conf", configuration(lab))


def begin(lab: Lab, report: Report) -> Record:
    """Start the first process, and wait until it takes orders."""
    report("making namespaces" if not lab.simulated else "starting supervisord")
    record = namespace.begin_simulated(lab) if lab.simulated else namespace.begin(lab)
    supervisor, deadline = Supervisor(lab), time.monotonic() + PART_SECONDS
    while not supervisor.is_answering():
        if not record.is_alive or time.monotonic() > deadline:
            log = lab.logs / "init.log"
            raise CheckError(
                f"lab {lab.lab_id} — its first process {'ended' if not record.is_alive else 'does not answer'} — "
                f"it had to become supervisord — read {log}: {_last_lines(log)}"
            )
        time.sleep(POLL_SECONDS)
    return record


def await_parts(lab: Lab, record: Record, report: Report) -> None:
    """Wait until each part answers, in the order in which they depend on each other."""
    for part in parts(lab):
        deadline = time.monotonic() + PART_SECONDS
        while wrong := complaint(lab, part, record.pid):
            report(f"waiting for {part.name}")
            if time.monotonic() > deadline:
                log = lab.logs / f"{part.name}.log"
                raise CheckError(
                    f"{part.name} — does not work after {PART_SECONDS:.0f} s: {wrong} — it had to answer — "
                    f"read {log}: {_last_lines(log)}"
                )
            time.sleep(POLL_SECONDS)
        report(f"{part.name} works")
        if part.name == "kube-apiserver":
            # The parts after it may do nothing before this.
            grant(lab, deadline + GRANT_SECONDS)
            hurry(lab, record)


def grant(lab: Lab, deadline: float) -> None:
    """Give the parts their roles; tried again, for an API server that has just come up may time out."""
    while True:
        try:
            return access.grant(lab)
        except CheckError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def hurry(lab: Lab, record: Record) -> None:
    """Start those parts again that would otherwise wait long for what has just come true."""
    for part in parts(lab):
        if part.is_patient and complaint(lab, part, record.pid):
            Supervisor(lab).restart(part.name)


def await_node(lab: Lab, host: Host, report: Report) -> None:
    """Wait until a real host takes pods."""
    deadline = time.monotonic() + NODE_SECONDS
    condition = '.status.conditions[?(@.type=="Ready")]'
    path = f"-o=jsonpath={{{condition}.status}}/{{{condition}.message}}"
    while True:
        ready, _, message = access.kubectl(lab, "get", "node", host.name, "--ignore-not-found", path).partition("/")
        if ready == "True":
            return
        report(f"waiting for node {host.name}")
        if time.monotonic() > deadline:
            raise CheckError(
                f"node {host.name} — is not Ready after {NODE_SECONDS:.0f} s: {message or 'it never registered'} — "
                f"True was expected — read {lab.logs / host.part('kubelet')}.log"
            )
        time.sleep(POLL_SECONDS)


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-5:]) if log.exists() else "it is empty"


def main() -> None:
    """Bring back a lab that died; run by its watcher."""
    with watch.held(paths.state_dir() / "run/start.lock"):
        record = registry.read(paths.lab_id())
        # Looked at under the lock: the user may have asked for its end meanwhile.
        if record and record.wanted == "up":
            make_it_run(lambda line: print(line, flush=True), simulated=record.simulated)


if __name__ == "__main__":
    main()
