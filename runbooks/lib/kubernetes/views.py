"""Pods, hosts, deployments and events as runbooks read them: pure functions of the API's plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from infra.plan.labels import LEAF_LABEL, POOL_LABEL

Object = Mapping[str, Any]

CORDONED_BY = "railwright.dev/cordoned-by"
"""Annotation on a host: for whom of us it is cordoned, as a comma list of reasons."""

SIMULATED = "lab.railwright.dev/nodepool"
"""Label of a host that exists in the API only. Source: the lab's fleet."""

_MULTIPLES = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}


def amount(quantity: Any) -> float:
    """Read a Kubernetes quantity, such as ``500m`` or ``2Gi``."""
    text = str(quantity)
    for suffix, factor in (*_BINARY.items(), *_MULTIPLES.items()):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


def instant(text: str | None) -> datetime | None:
    """Read a time as the API writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _born(raw: Object) -> datetime:
    return instant(raw["metadata"].get("creationTimestamp")) or datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of an object."""

    status: str
    """``True``, ``False`` or ``Unknown``."""
    reason: str
    message: str
    since: datetime | None


def conditions(raw: Object) -> dict[str, Condition]:
    """Conditions of an object by type."""
    return {
        entry["type"]: Condition(
            entry["status"], entry.get("reason", ""), entry.get("message", ""), instant(entry.get("lastTransitionTime"))
        )
        for entry in raw.get("status", {}).get("conditions", [])
    }


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod."""

    name: str
    ready: bool
    restarts: int
    state: str
    """``running``, ``waiting`` or ``terminated``; empty before it was begun."""
    reason: str
    message: str
    exit_code: int | None
    """Of a container that has ended and not begun again."""
    since: datetime | None
    last_reason: str
    """Why the run before this one ended, such as ``OOMKilled``; empty when there was none."""
    last_exit_code: int | None
    last_ended: datetime | None


def _container(raw: Object) -> Container:
    states: Mapping[str, Object] = raw.get("state", {})
    state, details = next(iter(states.items()), ("", {}))
    last = raw.get("lastState", {}).get("terminated", {})
    began = details.get("startedAt") if state == "running" else details.get("finishedAt")
    return Container(
        raw["name"], raw.get("ready", False), raw.get("restartCount", 0), state, details.get("reason", ""),
        details.get("message", ""), details.get("exitCode"), instant(began), last.get("reason", ""),
        last.get("exitCode"), instant(last.get("finishedAt")),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod."""

    namespace: str
    name: str
    uid: str
    host: str
    """Empty as long as it has no place."""
    phase: str
    ready: bool
    restarts: int
    ip: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner: str
    """Kind and name of its controller, such as ``ReplicaSet/tiny-7fff``; empty without one."""
    created: datetime
    deleting: bool
    conditions: Mapping[str, Condition]
    containers: tuple[Container, ...]
    requests: Mapping[str, float]
    """What its containers ask for together."""
    raw: Object = field(repr=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def model(self) -> str:
        """Name of the model it serves, or of what else it is part of."""
        return self.labels.get("app.kubernetes.io/name", "")

    @property
    def is_daemon(self) -> bool:
        """Whether each host has one of it, so that no drain can move it."""
        return self.owner.startswith("DaemonSet/")

    @property
    def is_mirror(self) -> bool:
        """Whether a file on its host makes it, so that the API cannot remove it."""
        return "kubernetes.io/config.mirror" in self.annotations

    @property
    def is_over(self) -> bool:
        """Whether it has run to its end and takes no room."""
        return self.phase in ("Succeeded", "Failed")


def pod(raw: Object) -> Pod:
    """Read a Pod."""
    meta, spec, status = raw["metadata"], raw["spec"], raw.get("status", {})
    found = conditions(raw)
    states = tuple(_container(entry) for entry in status.get("containerStatuses", []))
    owner = next((e for e in meta.get("ownerReferences", []) if e.get("controller")), None)
    requests: dict[str, float] = {"pods": 1.0}
    for container in spec["containers"]:
        for name, quantity in container.get("resources", {}).get("requests", {}).items():
            requests[name] = requests.get(name, 0.0) + amount(quantity)
    return Pod(
        meta["namespace"], meta["name"], meta["uid"], spec.get("nodeName", ""), status.get("phase", ""),
        "Ready" in found and found["Ready"].status == "True", sum(state.restarts for state in states),
        status.get("podIP", ""), meta.get("labels", {}), meta.get("annotations", {}),
        f"{owner['kind']}/{owner['name']}" if owner else "", _born(raw), "deletionTimestamp" in meta,
        found, states, requests, raw,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Host:
    """One host, as its Node object tells it."""

    name: str
    ready: bool
    cordoned: bool
    cordoned_by: tuple[str, ...]
    """Our reasons; a cordon without any is somebody else's."""
    pool: str
    leaf: str
    simulated: bool
    address: str
    conditions: Mapping[str, Condition]
    allocatable: Mapping[str, float]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    created: datetime
    raw: Object = field(repr=False)

    @property
    def takes_pods(self) -> bool:
        """Whether the scheduler would put a pod here."""
        return self.ready and not self.cordoned


def host(raw: Object) -> Host:
    """Read a Node."""
    meta, spec, status = raw["metadata"], raw.get("spec", {}), raw.get("status", {})
    labels, notes, found = meta.get("labels", {}), meta.get("annotations", {}), conditions(raw)
    addresses = {entry["type"]: entry["address"] for entry in status.get("addresses", [])}
    return Host(
        meta["name"], "Ready" in found and found["Ready"].status == "True", spec.get("unschedulable", False),
        reasons(notes.get(CORDONED_BY)), labels.get(POOL_LABEL, ""), labels.get(LEAF_LABEL, ""), SIMULATED in labels,
        addresses.get("InternalIP", ""), found,
        {name: amount(value) for name, value in status.get("allocatable", {}).items()},
        labels, notes, tuple(spec.get("taints", [])), _born(raw), raw,
    )  # fmt: skip


def reasons(text: str | None) -> tuple[str, ...]:
    """Read the annotation of a cordon."""
    return tuple(sorted(set(filter(None, (text or "").split(",")))))


@dataclass(frozen=True, slots=True)
class Deployment:
    """One Deployment and how far it has come."""

    namespace: str
    name: str
    replicas: int
    """Wanted (count)."""
    ready: int
    updated: int
    available: int
    total: int
    """All that exist, of old templates too (count)."""
    generation: int
    observed: int
    template: Mapping[str, Any]
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    conditions: Mapping[str, Condition]
    raw: Object = field(repr=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_settled(self) -> bool:
        """Whether all replicas wanted are available, of the newest template, and no other is left."""
        counts = {self.updated, self.available, self.total}
        return self.observed >= self.generation and counts == {self.replicas}


_COUNTS = ("readyR", "updatedR", "availableR", "r")


def deployment(raw: Object) -> Deployment:
    """Read a Deployment."""
    meta, spec, status = raw["metadata"], raw["spec"], raw.get("status", {})
    ready, updated, available, total = (status.get(f"{part}eplicas", 0) for part in _COUNTS)
    return Deployment(
        meta["namespace"], meta["name"], spec.get("replicas", 1), ready, updated, available, total,
        meta.get("generation", 0), status.get("observedGeneration", 0), spec["template"],
        meta.get("annotations", {}), meta.get("labels", {}), conditions(raw), raw,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """One event that some part of the cluster reported."""

    at: datetime
    type: str
    """``Normal`` or ``Warning``."""
    reason: str
    message: str
    count: int
    kind: str
    namespace: str
    name: str
    source: str


def event(raw: Object) -> Event:
    """Read an Event, in its old form or its new one."""
    about, series = raw["involvedObject"], raw.get("series") or {}
    last = series.get("lastObservedTime") or raw.get("lastTimestamp") or raw.get("eventTime")
    source = raw.get("reportingComponent") or raw.get("source", {}).get("component", "")
    return Event(
        instant(last) or _born(raw), raw.get("type", ""), raw.get("reason", ""), raw.get("message", "").strip(),
        series.get("count") or raw.get("count") or 1, about.get("kind", ""), about.get("namespace", ""),
        about.get("name", ""), source,
    )  # fmt: skip
