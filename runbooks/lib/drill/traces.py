"""What a system looks like to someone who asks whether a drill left anything behind."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context

KINDS = (
    ("v1", "Node"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("monitoring.coreos.com/v1", "Prometheus"),
    ("monitoring.coreos.com/v1", "Alertmanager"),
)
"""Objects that a drill must leave as they were."""

PASSING = (
    re.compile(r"\b[0-9a-f]{64}\b"),
    re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    re.compile(r"\bveth[0-9a-f]+\b(@if\d+)?"),
    re.compile(r"\bcni-[0-9a-f-]+\b"),
    re.compile(r"(?<=-)[0-9a-z]{8,10}-[0-9a-z]{5}\b"),
    re.compile(r"(?<=kube-api-access-)[0-9a-z]{5}\b"),
    re.compile(r"\bsha256:[0-9a-f]+\b"),
    re.compile(r"\b10(\.\d+){3}\b"),
    re.compile(r"(?<=link-netnsid )\d+"),
    re.compile(r"\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b"),
    re.compile(r"(?<=timestamp-)\d+|(?<=\.\.)\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+"),
)
"""Names that differ between a pod and the one that takes its place."""

_OF_HOST = re.compile(r"(?<=/)(kubelet|containerd)-\d+(?=/)")
"""Folders of a host of the lab, where several hosts share one machine."""

_VOLATILE = ("resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink")
_BOOKKEEPING = (
    "deployment.kubernetes.io/",
    "kubectl.kubernetes.io/",
    "railwright.dev/restarted",
    "lab.railwright.dev/stamp",
    # A hash over what the object was before, too.
    "prometheus-operator-input-hash",
)
_OWN = re.compile(r"^(\S*/)?(runc|part)\b|runbook |lab\.cluster\.part")
"""Programs of the runtime and of whoever looks, which come and go."""
_COLUMNS = 3
_SESSIONS = re.compile(r"^(\S*/)?(dropbear|sshd)\b")


@dataclass(frozen=True)
class Traces:
    """One look; two looks are compared."""

    things: Mapping[str, Mapping[str, str]]
    """Kind of trace → its name → its state; ``processes`` have their number as state."""

    def since(self, before: Traces) -> list[str]:
        """What differs from an earlier look, one sentence each; empty when nothing was left behind.

        What one host has less and another has more has moved, as pods do after a drain.
        """
        return [
            said
            for kind in sorted({*self.things, *before.things})
            for name, said in _differences(kind, before.things.get(kind, {}), self.things.get(kind, {}))
            if " " not in kind or self._total(kind, name) != before._total(kind, name)
        ]

    def _total(self, kind: str, name: str) -> int:
        """Number of a thing on all hosts; ``kind`` is that of one of them, such as ``lab-0 mounts``."""
        what = kind.rsplit(maxsplit=1)[-1]
        return sum(int(states.get(name, 0)) for of, states in self.things.items() if of.split()[-1] == what)


def take(ctx: Context) -> Traces:
    """Look at the objects of the cluster and at processes, mounts, interfaces and firewall of each real host."""
    things: dict[str, Mapping[str, str]] = {"objects": _objects(ctx), "pods": _pods(ctx)}
    for host in _real_hosts(ctx):
        ask = clients.of(ctx).hosts.ask
        things[f"{host} processes"] = _counted(_processes(ask(host, ["ps", "-eo", "pid=,ppid=,args="]).stdout))
        things[f"{host} mounts"] = _counted(_mounts(ask(host, ["cat", "/proc/mounts"]).stdout))
        things[f"{host} interfaces"] = _counted(_interfaces(ask(host, ["ip", "-o", "link"]).stdout))
        things[f"{host} firewall"] = _counted(_rules(ask(host, ["nft", "list", "ruleset"]).stdout))
    return Traces(things)


def _real_hosts(ctx: Context) -> list[str]:
    return [host.name for host in clients.of(ctx).kube.hosts.list() if not host.simulated]


def _objects(ctx: Context) -> dict[str, str]:
    kube = clients.of(ctx).kube
    return {
        f"{kind} {thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}": state_of(thing)
        for version, kind in KINDS
        for thing in kube.list(version, kind)
    }


def state_of(thing: Mapping[str, Any]) -> str:
    """Hash over what someone decided about an object: labels, annotations, spec and data, not its status."""
    meta = {key: value for key, value in thing["metadata"].items() if key not in _VOLATILE}
    kept = {k: v for k, v in meta.get("annotations", {}).items() if not k.startswith(_BOOKKEEPING)}
    decided = {k: v for k, v in thing.items() if k not in ("metadata", "status")}
    text = json.dumps([{**meta, "annotations": kept}, decided], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _pods(ctx: Context) -> dict[str, str]:
    """Ready pods of each owner: pods come and go, their number and their state must not."""
    ready: Counter[str] = Counter()
    for pod in clients.of(ctx).kube.pods.list():
        owner = re.sub(r"-[0-9a-f]{8,10}$", "", pod.owner)
        ready[f"{pod.namespace}/{owner or pod.name} {'ready' if pod.ready else 'not ready'}"] += 1
    return {name: str(count) for name, count in ready.items()}


def named(text: str) -> str:
    """A line without the names that differ from one pod to the next."""
    text = _OF_HOST.sub(r"\1", text)
    for pattern in PASSING:
        text = pattern.sub("*", text)
    return text.strip()


def _processes(text: str) -> Iterator[str]:
    """Programs, less threads of the kernel and less what anybody's ssh session started, this one's included."""
    rows = [line.split(None, 2) for line in text.splitlines()]
    running = {int(row[0]): (int(row[1]), row[2].strip()) for row in rows if len(row) == _COLUMNS}
    for pid, (parent, program) in running.items():
        if not (program.startswith("[") or _OWN.search(program) or _is_session(running, pid, parent)):
            yield named(program)


def _is_session(running: Mapping[int, tuple[int, str]], pid: int, parent: int) -> bool:
    """Whether a process is a session of the ssh daemon, or descends from one; the daemon itself is not."""
    seen = {pid}
    while parent in running and parent not in seen:
        if _SESSIONS.search(running[parent][1]):
            return True
        seen.add(parent)
        parent = running[parent][0]
    return False


def _mounts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        source, target, kind, *_ = line.split()
        yield named(f"{source} on {target} ({kind})")


def _interfaces(text: str) -> Iterator[str]:
    for line in text.splitlines():
        _, name, rest = line.split(":", 2)
        state = "up" if "LOWER_UP" in rest else "down"
        queue = re.search(r"mtu \d+ qdisc \S+", rest)
        yield named(f"{name.strip()} {state} {queue.group() if queue else ''}")


def _rules(text: str) -> Iterator[str]:
    """Every rule that no Service's endpoints put there: kube-proxy rewrites its own all the time."""
    table = ""
    for line in text.splitlines():
        if line.startswith("table"):
            table = line
        if "kube-proxy" not in table and line.strip() not in ("", "}"):
            yield named(f"{table.removesuffix(' {')}: {line.strip()}" if line != table else table)


def _counted(lines: Iterable[str]) -> dict[str, str]:
    return {line: str(count) for line, count in Counter(lines).items()}


def _differences(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names whose state is not the same, and the sentence about each."""
    for name in sorted({*before, *after}):
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if was is None:
            yield name, f"{kind}: {name} is new"
        elif is_ is None:
            yield name, f"{kind}: {name} is gone"
        else:
            yield name, f"{kind}: {name} changed" + (f" from {was} to {is_}" if was.isdigit() and is_.isdigit() else "")
