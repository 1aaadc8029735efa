"""RW-104: tensor parallelism stays inside one NVLink domain, and a group of pods on one leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.engine import GPU, Engine, engines
from policies.field import Field, Finding, settle
from policies.hosts import gpus_of
from policies.resource import POD_TYPES, Resource, pods

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-104", "high", POD_TYPES, True
TITLE = "tensor parallelism stays inside one NVLink domain, and a group of pods on one leaf"
REMEDIATION = (
    "keep --tensor-parallel-size at or below the GPUs of one host and use --pipeline-parallel-size across hosts; give "
    "a group of several pods the annotation leaderworkerset.sigs.k8s.io/exclusive-topology with the label of a leaf, "
    "or all its pods kueue.x-k8s.io/podset-required-topology with that label and one podset-group-name"
)

TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""Annotation that keeps a group within one value of a node label. Source: LeaderWorkerSet, exclusive placement."""
HOSTNAME = "kubernetes.io/hostname"
"""Label of one host; a group of several hosts cannot share it. Source: Kubernetes, well-known labels."""
LEVEL = "kueue.x-k8s.io/podset-required-topology"
"""Annotation of pods that Kueue puts within one value of a node label. Source: Kueue, KEP 2724."""
TOGETHER = "kueue.x-k8s.io/podset-group-name"
"""Annotation that makes leader and workers one set; without it each has a place of its own. Source: as above."""


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each engine whose ranks talk over the network all the time, or over more than one switch."""

    def judge(_: Field) -> Iterator[Finding]:
        for engine in engines(resource):
            yield from _domain(engine, stack)
            yield from _leaf(engine, resource)

    yield from settle(judge, resource.inputs)


def _domain(engine: Engine, stack: Sequence[Resource]) -> Iterator[Finding]:
    """A pod is on one host; the hosts of a rack may share one domain all the same, as GB200's do."""
    spans = any(gpu.nvlink_domain > gpu.per_host for gpu in gpus_of(engine.pod, stack))
    if engine.pods > 1 and engine.gpus and engine.tensor > engine.gpus and not spans:
        found = f"{engine.tensor} ranks share each layer, a pod has {engine.gpus} GPUs"
        yield Finding("fail", engine.container["args"].path, f"{found}, so every layer waits for the network")
    single = engine.pods == 1 and engine.gpus
    for gpu in gpus_of(engine.pod, stack) if single else ():
        if engine.gpus > gpu.per_host:
            path = engine.container["resources"]["limits"][GPU].path
            yield Finding("fail", path, f"{engine.gpus} GPUs in one pod, a host has {gpu.per_host} x {gpu.name}")


def _leaf(engine: Engine, resource: Resource) -> Iterator[Finding]:
    if engine.pods == 1:
        return
    notes = resource.inputs["metadata"]["annotations"]
    kept_by = {str(notes[TOPOLOGY].known() or ""), *_topologies(engine.pod), _level(resource)} - {"", HOSTNAME}
    if not kept_by:
        found = f"{engine.pods} pods answer as one and may land on different leaves"
        yield Finding("fail", notes[TOPOLOGY].path, f"{found}; their traffic would cross the spine")


def _topologies(pod: Field) -> set[str]:
    terms = pod["spec"].at("affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return {str(term["topologyKey"].known()) for term in terms.each()}


def _level(resource: Resource) -> str:
    """Label within one value of which Kueue puts the whole group; empty where it does not."""
    notes = [pod.at("metadata", "annotations") for pod in pods(resource)]
    levels, names = ({str(each[key].known() or "") for each in notes} for key in (LEVEL, TOGETHER))
    is_one = len(notes) == 1 or (len(names) == 1 and "" not in names)
    return levels.pop() if is_one and len(levels) == 1 else ""
