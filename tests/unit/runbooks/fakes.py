"""A cluster, a Prometheus and an Alertmanager in memory, for runbooks that are run by the real engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from infra.plan.facts import Plan
from runbooks.engine.model import Runbook
from runbooks.engine.run import Consent, Result, Site, execute
from runbooks.lib import drift
from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.views import Deployment, Event, Host, Pod
from runbooks.lib.stack import Stack
from runbooks.lib.writing import Result as Ran
from runbooks.lib.writing import may
from tests.unit.runbooks.fake_services import Alertmanager, Gateway, History, Prometheus

BEGAN = datetime.now(UTC)
"""When the data of the tests were made; the clock of each test begins here."""
TINY = "tiny-7fff55f7f4-jwx6m"
DOOR = "gateway-85757d8bb-x4tcz"
PLAN: Plan = Stack("lab").plan
HEALTHY = 'vllm:num_requests_running{model_name="tiny"} 0\nvllm:generation_tokens_total{model_name="tiny"} 90\n'


def stamp(ago: float) -> str:
    """A time some seconds ago, as the API writes it."""
    return (BEGAN - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(name: str = TINY, *, ready: bool = True, age: float = 3600, host: str = "lab-0", **container: Any) -> Pod:
    """A pod of a model or of the gateway; ``container`` are fields of its container's status."""
    of_gateway = name.startswith("gateway")
    app = name.rsplit("-", 2)[0]
    status = {"name": "gateway" if of_gateway else "engine", "ready": ready, "restartCount": 0, "started": True,
              "state": {"running": {"startedAt": stamp(age)}}} | container  # fmt: skip
    since = {"lastTransitionTime": stamp(min(age, 60))}
    return views.pod(
        {
            "metadata": {"namespace": "gateway" if of_gateway else "models", "name": name, "uid": f"uid-{name}",
                         "labels": {"app.kubernetes.io/name": app}, "creationTimestamp": stamp(age),
                         "ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "controller": True}]},
            "spec": {"nodeName": host, "containers": [{"name": status["name"], "image": "docker.io/railwright/x"}]},
            "status": {"phase": "Running" if host else "Pending", "containerStatuses": [status] if host else [],
                       "conditions": [{"type": "Ready", "status": str(ready)} | since]
                       + ([] if host else [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes: cpu"}])},
        }
    )  # fmt: skip


def event(reason: str, name: str, message: str = "", *, ago: float = 30, kind: str = "Pod") -> Event:
    """An event of a pod."""
    namespace = "gateway" if name.startswith("gateway") else "models"
    at = BEGAN - timedelta(seconds=ago)
    return Event(at, "Normal", reason, message, 1, kind, namespace, name, "kubelet")


@dataclass
class Cluster:
    """What the API server holds; written words go to ``written``."""

    ctx: Any = None
    pods_there: list[Pod] = field(default_factory=lambda: [pod(), pod(DOOR)])
    events_there: list[Event] = field(default_factory=list)
    pages: dict[str, list[str]] = field(default_factory=dict)
    """Metrics page of a pod, one for each time it is asked; absent: a healthy one; empty: no answer."""
    ready: dict[str, int] = field(default_factory=dict)
    """Ready replicas by Deployment, where not all are."""
    wanted: dict[str, int] = field(default_factory=dict)
    logs_there: dict[str, list[str]] = field(default_factory=dict)
    objects: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    shed: dict[str, str] = field(default_factory=dict)
    templates: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Pod templates that are not as planned, by Deployment."""
    written: list[str] = field(default_factory=list)

    def bind(self, ctx: Any) -> Cluster:
        """Be the clients of a context."""
        self.ctx = ctx
        return self

    # -- as Kubernetes
    @property
    def pods(self) -> Cluster:
        return self

    @property
    def hosts(self) -> Hosts:
        return Hosts()

    @property
    def deployments(self) -> Deployments:
        return Deployments(self)

    @property
    def events(self) -> Events:
        return Events(self.events_there)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Objects that a test put here, else those of the plan, so that nothing differs."""
        if (kind, namespace, name) in self.objects:
            return self.objects[kind, namespace, name]
        for one in drift.manifests(PLAN):
            if (one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) == (kind, namespace, name):
                return one
        return None

    @property
    def api(self) -> Cluster:
        return self

    def path(self, api_version: str, kind: str, namespace: str, name: str = "") -> str:
        return f"{namespace}/{kind}/{name}"

    def send(self, method: str, path: str, body: dict[str, Any]) -> None:
        """Create an object."""
        meta = body["metadata"]
        if self.note(f"create {body['kind']} {meta['name']}"):
            self.objects[body["kind"], meta["namespace"], meta["name"]] = body

    def patch(self, api_version: str, kind: str, namespace: str, name: str, body: dict[str, Any]) -> None:
        """Merge the data of a Secret."""
        if self.note(f"patch {kind} {name}"):
            self.objects[kind, namespace, name]["data"] |= body["data"]

    # -- as its pods
    def find(self, namespace: str, name: str) -> Pod | None:
        return next((one for one in self.pods_there if one.name == name), None)

    def of_model(self, name: str, *, deleting: bool = False) -> Sequence[Pod]:
        return [one for one in self.pods_there if one.model == name]

    def of_gateway(self, *, deleting: bool = False) -> Sequence[Pod]:
        return self.of_model("gateway")

    def http(self, namespace: str, name: str, port: int, path: str) -> str:
        """The next page of a pod."""
        if name not in self.pages:
            return HEALTHY
        if not self.pages[name]:
            raise Unknown(f"pod {name} — no answer")
        return self.pages[name].pop(0) if len(self.pages[name]) > 1 else self.pages[name][0]

    def logs(self, namespace: str, name: str, **more: Any) -> list[str]:
        return self.logs_there.get(name, [])

    def delete(self, namespace: str, name: str, *, grace: int | None = None) -> None:
        self.note(f"delete pod {name}" + (f" with {grace} s of grace" if grace is not None else ""))

    def until_gone(self, namespace: str, name: str, uid: str, *, timeout: timedelta) -> None:
        return None

    def annotate(self, namespace: str, name: str, values: Mapping[str, Any]) -> None:
        self.note(f"annotate pod {name}")

    def ask(self, namespace: str, name: str, argv: Sequence[str], **more: Any) -> Ran:
        """Envoy's administration: the switches."""
        entries = ", ".join(
            f'"{key}": {{"layer_values": [""], "final_value": "{at}"}}' for key, at in self.shed.items()
        )
        return Ran(0, f"HTTP/1.1 200 OK\r\n\r\n{{{entries}}}", "")

    def exec(self, namespace: str, name: str, argv: Sequence[str], **more: Any) -> Ran:
        """Set a switch."""
        key, _, at = argv[-1].partition("?")[2].partition("=")
        if self.note(f"shed {key}={at} on {name}"):
            self.shed[key] = at
        return Ran(0, "HTTP/1.1 200 OK\r\n\r\nOK", "")

    def note(self, doing: str) -> bool:
        """Write, through the gate that all clients have."""
        if not may(self.ctx, doing):
            return False
        self.written.append(doing)
        return True


class Hosts:
    """One host that is well."""

    def get(self, name: str) -> Host:
        meta = {"name": name, "creationTimestamp": stamp(9000), "labels": {}}
        return views.host({"metadata": meta, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})


@dataclass
class Deployments:
    """The Deployments of the plan, as ready as the cluster says."""

    cluster: Cluster

    def get(self, namespace: str, name: str) -> Deployment:
        """One Deployment."""
        wanted = drift.deployment(PLAN, namespace, name)
        if wanted is None:
            raise ConfigError(f"deployment {namespace}/{name} — there is none — look")
        replicas = self.cluster.wanted.get(name, wanted["spec"]["replicas"])
        ready = self.cluster.ready.get(name, replicas)
        spec = wanted["spec"] | {"replicas": replicas}
        spec |= {"template": self.cluster.templates.get(name, spec["template"])}
        status = {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready}
        meta = wanted["metadata"] | {"uid": name, "generation": 1}
        return views.deployment(
            {
                **wanted,
                "metadata": meta,
                "spec": spec,
                "status": status | {"observedGeneration": 1},
            }
        )

    def replica_sets(self, namespace: str, name: str) -> Sequence[Mapping[str, Any]]:
        return []

    def until_settled(self, namespace: str, name: str, *, timeout: timedelta) -> Deployment:
        return self.get(namespace, name)

    def put_template(self, namespace: str, name: str, template: Mapping[str, Any]) -> None:
        if self.cluster.note(f"put template on {name}"):
            self.cluster.templates[name] = dict(template)

    def restart(self, namespace: str, name: str) -> None:
        self.cluster.note(f"restart {name}")

    def scale(self, namespace: str, name: str, replicas: int) -> None:
        if self.cluster.note(f"scale {name} to {replicas}"):
            self.cluster.wanted[name] = replicas


@dataclass
class Events:
    """Events by object."""

    there: list[Event]

    def of(self, kind: str, namespace: str, name: str) -> list[Event]:
        return [one for one in self.there if (one.kind, one.name) == (kind, name)]

    def recent(self, namespace: str = "", *, within: timedelta) -> list[Event]:
        return [one for one in self.there if one.namespace == namespace and datetime.now(UTC) - one.at <= within]


@dataclass
class World:
    """All clients of a run, in memory."""

    kube: Cluster = field(default_factory=Cluster)
    prometheus: Prometheus = field(default_factory=Prometheus)
    stats: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    """Counters of a gateway pod, one for each time it is asked; the last stays."""
    plan: Plan = PLAN

    def __post_init__(self) -> None:
        self.alertmanager, self.history, self.stack = Alertmanager(self.kube), History(self.plan), Stack("lab")

    @property
    def gateway(self) -> Gateway:
        return Gateway(self.stats)

    def connect(self, ctx: Any) -> World:
        """Be the clients of a context."""
        self.kube.bind(ctx)
        return self

    def run(self, book: type[Runbook], tmp_path: Path, *, yes: bool = False, **inputs: Any) -> Result:
        """Run a runbook by the real engine."""
        site = Site(runs=tmp_path / "runs", connect=self.connect)
        return execute(book, book.Inputs(**inputs), stack="lab", site=site, consent=Consent(yes=yes))


def said(result: Result) -> str:
    """All that a run said, refusals included."""
    return "\n".join([*(f"{one.title}: {one.said}" for one in result.steps), *result.refused])


def offered(result: Result) -> set[str]:
    """Values of ``do`` that a run offers."""
    return {one.do for one in result.offers}
