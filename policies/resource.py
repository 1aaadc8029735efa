"""Resources as rules see them, and the pods that they make."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from policies.field import Field

_TEMPLATES = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "workerTemplate"),
}
"""Where each kind keeps its pod template."""
_LEADER = ("spec", "leaderWorkerTemplate", "leaderTemplate")
"""Second template of a LeaderWorkerSet; without it, leaders are made from the worker's."""

POD_TYPES = tuple(
    f"kubernetes:{group}:{kind}"
    for group, kinds in (
        ("core/v1", ("Pod",)),
        ("apps/v1", ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
        ("batch/v1", ("Job", "CronJob")),
        ("leaderworkerset.x-k8s.io/v1", ("LeaderWorkerSet",)),
    )
    for kind in kinds
)
"""Types of all resources that make pods."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a stack: its Pulumi type, name, URN and inputs."""

    type: str
    name: str
    inputs: Field
    urn: str = ""

    @property
    def group(self) -> str:
        """Kubernetes API group, such as ``apps``."""
        return self.type.split(":")[1].partition("/")[0]

    @property
    def kind(self) -> str:
        """Kubernetes kind, such as ``Deployment``."""
        return self.type.rpartition(":")[2]


def pods(resource: Resource) -> Iterator[Field]:
    """Yield the pod templates of a resource: fields with ``metadata`` and ``spec``."""
    if resource.kind not in _TEMPLATES:
        return
    yield resource.inputs.at(*_TEMPLATES[resource.kind])
    if resource.kind == "LeaderWorkerSet" and resource.inputs.at(*_LEADER).value is not None:
        yield resource.inputs.at(*_LEADER)


def containers(pod: Field) -> Iterator[Field]:
    """Yield every container of a pod, those that run before it included."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod["spec"][kind].each()


def annotation(pod: Field, name: str) -> Field:
    """Find an annotation of the pod by its name after ``railwright.dev/``."""
    return pod.at("metadata", "annotations", f"railwright.dev/{name}")


def words(container: Field) -> list[str]:
    """Split what a container runs into words, shell scripts too.

    Raises:
        Unknown: a part of it can be told at the update only.
    """
    found: list[str] = []
    for part in (*container["command"].each(), *container["args"].each()):
        text = str(part.known())
        try:
            found += shlex.split(text) if " " in text or "\n" in text else [text]
        except ValueError:  # an open quote: no shell, then, but text that holds one
            found += text.split()
    return found
