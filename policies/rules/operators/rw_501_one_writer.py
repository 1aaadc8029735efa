"""RW-501: what writes to hosts is there once: one NFD, one exporter's monitor, one owner of the kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.field import Finding, settle
from policies.releases import RELEASE, Release, release, releases
from policies.resource import Resource

WORKLOADS = ("kubernetes:apps/v1:DaemonSet", "kubernetes:apps/v1:Deployment")
MONITOR = "kubernetes:monitoring.coreos.com/v1:ServiceMonitor"

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-501", "high", (RELEASE, MONITOR), True
TITLE = "what writes to hosts is there once"
REMEDIATION = "let one operator bring Node Feature Discovery, and give objects of yours names that no operator takes"

NFD = "node-feature-discovery"
"""Name of its chart, and of the label ``app.kubernetes.io/name`` of its programs. Source: NFD 0.19, _helpers.tpl."""

BRINGERS = ("gpu-operator", "network-operator", NFD)
"""Charts that bring it unless told not to. Source: values.yaml of GPU Operator 26.7 and Network Operator 26.4."""

TAKEN = "nvidia-dcgm-exporter"
"""Name that the GPU Operator deletes when its own monitor is off. Source: oracle-quickstart/oci-hpc-oke."""


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each thing that a second one writes too."""
    if resource.type == RELEASE:
        yield from settle(lambda _: _one_nfd(release(resource), stack), resource.inputs)
    else:
        yield from settle(lambda _: _own_name(resource, stack), resource.inputs)


def _one_nfd(given: Release, stack: Sequence[Resource]) -> Iterator[Finding]:
    if given.chart not in BRINGERS or not _brings(given):
        return
    at = given.values.at("nfd", "enabled") if given.chart != NFD else given.resource.inputs["chart"]
    others = [
        item for item in releases(stack, *BRINGERS) if item.resource.name != given.resource.name and _brings(item)
    ]
    names = [f"{item.chart} ({item.resource.name})" for item in others]
    names += [item.name for item in stack if item.type in WORKLOADS and _is_nfd(item)]
    if names:
        found = f"{given.chart} brings a second Node Feature Discovery beside {', '.join(names)}: two write one host"
        yield Finding("fail", at.path, found)


def _brings(given: Release) -> bool:
    return given.chart == NFD or given.on("nfd", "enabled", unless=True)


def _is_nfd(resource: Resource) -> bool:
    return str(resource.inputs.at("metadata", "labels", "app.kubernetes.io/name").known()) == NFD


def _own_name(monitor: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    name = monitor.inputs.at("metadata", "name")
    for given in releases(stack, "gpu-operator") if name.known() == TAKEN else ():
        who = "writes one of its own" if _monitors(given) else "deletes it"
        yield Finding("fail", name.path, f"a ServiceMonitor {TAKEN!r}: the GPU Operator {who} under that name")


def _monitors(given: Release) -> bool:
    return given.on("dcgmExporter", "serviceMonitor", "enabled", unless=True)
