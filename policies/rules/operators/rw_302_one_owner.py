"""RW-302: a host's driver has one owner, and it, the operators and the images were made to go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.catalog.compat import GPU_OPERATORS, branch_of, runs_cuda
from policies.field import Field, Finding, settle
from policies.releases import RELEASE, Release, release, releases
from policies.resource import POD_TYPES, Resource, annotation, pods

DRIVER = "kubernetes:nvidia.com/v1alpha1:NVIDIADriver"
GKE, EKS, AKS = (
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
    "azure-native:containerservice:AgentPool",
)

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-302", "critical", (RELEASE, DRIVER, GKE, EKS, AKS, *POD_TYPES), True
TITLE = "a host's driver has one owner, and driver, operator and CUDA go together"
REMEDIATION = (
    "name in cluster.ownership who brings the driver, and let the plan set the values of both operators; "
    "take versions from infra/catalog/compat.py"
)

OPERATOR = "gpu-operator"


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each part that two own or nobody does, and for each version that fits no other."""
    if resource.type == RELEASE:
        yield from settle(lambda _: _release(release(resource)), resource.inputs)
    elif resource.type == DRIVER:
        yield from settle(lambda _: _driver(resource, stack), resource.inputs)
    elif resource.type in (GKE, EKS, AKS):
        yield from settle(lambda pool: _hosts(resource.type, pool, stack), resource.inputs)
    else:
        yield from settle(lambda pod: _cuda(pod, stack), *pods(resource))


def _release(given: Release) -> Iterator[Finding]:
    if given.chart != OPERATOR:
        return
    dra = given.on("gpuCluster", "deployCR", unless=False)
    driver = given.on("driver", "enabled", unless=True)
    own = given.on("driver", "nvidiaDriverCRD", "enabled", unless=False)
    values = given.values
    if dra and given.on("clusterPolicy", "deployCR", unless=True):
        found = "ClusterPolicy and GPUCluster at once: two would give out the same GPUs, and the chart fails"
        yield Finding("fail", values.at("gpuCluster", "deployCR").path, found)
    if dra and driver and not own:
        found = "GPUCluster without driver.nvidiaDriverCRD.enabled: nobody would load the driver"
        yield Finding("fail", values.at("gpuCluster", "deployCR").path, found)
    nri, cdi = given.on("cdi", "nriPluginEnabled", unless=False), given.on("cdi", "enabled", unless=True)
    if nri and not (cdi and given.on("toolkit", "enabled", unless=True)):
        found = "the NRI plugin without CDI or without the toolkit that runs it: the chart fails"
        yield Finding("fail", values.at("cdi", "nriPluginEnabled").path, found)
    yield from _ready_made(given, driver)
    if driver:
        yield from _fits(given, values.at("driver", "version"))


def _ready_made(given: Release, driver: bool) -> Iterator[Finding]:
    ready = given.on("driver", "usePrecompiled", unless=False)
    for name in ("gds", "gdrcopy"):
        if not given.on(name, "enabled", unless=False) or (driver and not ready):
            continue
        what = "a driver that comes ready made" if driver else "no driver pod to build its module in"
        yield Finding("fail", given.values.at(name, "enabled").path, f"{name} with {what}: the module is never loaded")


def _fits(given: Release, version: Field) -> Iterator[Finding]:
    row = GPU_OPERATORS.get(given.version)
    if row is None:
        said = f"GPU Operator {given.version!r}" if given.version else "a GPU Operator of no version"
        found = f"{said} has no row of what it goes together with; known are: {', '.join(GPU_OPERATORS)}"
        yield Finding("fail", given.resource.inputs["chart"].path, found)
        return
    driver = str(version.known() or row.drivers[0])
    if branch_of(driver) not in row.branches:
        found = f"driver {driver!r}, GPU Operator {row.version} comes with branches {', '.join(row.branches)}"
        yield Finding("fail", version.path, found)


def _driver(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    spec = resource.inputs["spec"]
    for given in releases(stack, OPERATOR):
        if not given.on("driver", "enabled", unless=True):
            yield Finding("fail", spec.path, "a driver of the operator on hosts whose driver it does not own")
        elif not given.on("driver", "nvidiaDriverCRD", "enabled", unless=False):
            found = (
                "a driver that nobody heeds: driver.nvidiaDriverCRD.enabled is not set, so that all hosts get another"
            )
            yield Finding("fail", spec.path, found)
        else:
            yield from _fits(given, spec["version"])
    for other in stack:
        if other.type == DRIVER and other.name != resource.name and _where(other) == _where(resource):
            found = f"the same hosts as driver {other.name!r}: two drivers on one host crash in turns"
            yield Finding("fail", spec["nodeSelector"].path, found)


def _where(resource: Resource) -> object:
    return resource.inputs.at("spec", "nodeSelector").known() or {}


def _hosts(kind: str, pool: Field, stack: Sequence[Resource]) -> Iterator[Finding]:
    brings, at = _brings(kind, pool)
    for given in releases(stack, OPERATOR) if brings is not None else ():
        loads = given.on("driver", "enabled", unless=True)
        if loads and brings:
            yield Finding(
                "fail", at.path, "the cloud brings a driver to these hosts, and the GPU Operator loads another"
            )
        elif not loads and not brings:
            yield Finding("fail", at.path, "neither the cloud nor the GPU Operator brings a driver to these hosts")


def _brings(kind: str, pool: Field) -> tuple[bool | None, Field]:
    """Whether a cloud brings the driver to hosts, and where that is said; None for hosts without GPUs, or unsaid."""
    if kind == EKS:
        at = pool["amiType"]
        image = str(at.known() or "")
        # Plain images of Amazon Linux have none; of all others nothing is known.
        return (True if "NVIDIA" in image or image.endswith("_GPU") else None), at
    if kind == AKS:
        at = pool["gpuProfile"]["driver"]
        said = at.known()
        return (None if said is None else said == "Install"), at
    at = pool.at("nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
    said = at.known()
    return (None if said is None else said != "INSTALLATION_DISABLED"), at


def _cuda(pod: Field, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Find an image with newer CUDA than the oldest driver that the operator loads runs."""
    said = annotation(pod, "cuda")
    if said.known() is None:
        return
    drivers = [driver for given in releases(stack, OPERATOR) for driver in _loaded(given, stack)]
    wanted = int(str(said.known()).partition(".")[0])
    for driver in sorted(set(drivers)):
        if wanted > runs_cuda(branch_of(driver)):
            found = f"CUDA {said.known()}, driver {driver} runs CUDA {runs_cuda(branch_of(driver))} and older"
            yield Finding("fail", said.path, found)


def _loaded(given: Release, stack: Sequence[Resource]) -> Iterator[str]:
    row = GPU_OPERATORS.get(given.version)
    if not given.on("driver", "enabled", unless=True) or row is None:
        return
    own = [item.inputs.at("spec", "version") for item in stack if item.type == DRIVER]
    for version in own or [given.values.at("driver", "version")]:
        yield str(version.known() or row.drivers[0])
