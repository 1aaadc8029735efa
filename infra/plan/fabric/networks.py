"""Networks that pods can have interfaces in, and what makes the functions for them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from infra.plan.fabric.ipam import ipam
from infra.plan.fabric.rails import RailPlan, rails_of
from infra.plan.facts import PoolPlan
from infra.plan.labels import POOL_LABEL
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.model import NAMESPACE as PODS

MELLANOX = "mellanox.com/v1alpha1"
"""Group and version of MacvlanNetwork, HostDeviceNetwork and IPoIBNetwork. Source: network-operator 26.4.1."""
SRIOV = "sriovnetwork.openshift.io/v1"
"""Of SriovNetworkNodePolicy and its kin. Source: chart sriov-network-operator of network-operator 26.4.1."""
VENDOR = "15b3"
"""PCI vendor id of Mellanox."""

SYSCTLS = {
    "net.ipv4.conf.all.arp_announce": "2",
    "net.ipv4.conf.all.arp_filter": "1",
    "net.ipv4.conf.all.arp_ignore": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.all.accept_local": "1",
}
"""Several interfaces of a pod in one network answer each for itself. Source: oci-hpc-oke 26.7.0, sriov-network.yaml."""


def networks(plan: PoolPlan, namespace: str) -> dict[str, Manifest]:
    """Networks of one pool: part → manifest.

    Args:
        namespace: of the Network Operator.
    """
    access = plan.access
    if access is None or access.attaches == "no":
        return {}
    made: dict[str, Manifest] = {}
    for rail in rails_of(plan):
        if access.externally_managed and not rail.devices:
            # Where they are is not known, and a pod that asks for them is refused.
            return {}
        if access.mode == "sriov":
            made[f"functions-{rail.number}"] = _functions(plan, rail, namespace)
            made[f"network-{rail.number}"] = _virtual(plan, rail, namespace)
        elif access.mode == "host-device":
            made[f"network-{rail.number}"] = _whole(plan, rail)
        elif rail.block:
            made[f"network-{rail.number}"] = _shared(plan, rail)
    if access.mode == "sriov":
        made["function-hosts"] = _hosts(plan, namespace)
    return made


def resource_name(plan: PoolPlan, rail: RailPlan) -> str:
    """Resource of a rail's devices, without the operator's prefix."""
    name = plan.access.resource.partition("/")[2] if plan.access else ""
    return f"{name}{rail.number}" if plan.access and plan.access.asks == "rails" else name


def _of_kind(kind: str, rail: RailPlan, spec: Manifest) -> Manifest:
    addresses = {"ipam": ipam(rail)} if rail.block else {}
    return manifest(MELLANOX, kind, rail.name, spec={"networkNamespace": PODS, **spec, **addresses})


def _shared(plan: PoolPlan, rail: RailPlan) -> Manifest:
    if plan.pool.fabric == "infiniband":
        return _of_kind("IPoIBNetwork", rail, {"master": rail.interface})
    return _of_kind("MacvlanNetwork", rail, {"master": rail.interface, "mode": "bridge", "mtu": mtu_of(plan)})


def _whole(plan: PoolPlan, rail: RailPlan) -> Manifest:
    return _of_kind("HostDeviceNetwork", rail, {"resourceName": resource_name(plan, rail)})


def _functions(plan: PoolPlan, rail: RailPlan, namespace: str) -> Manifest:
    where = {"rootDevices": list(rail.devices)} if rail.devices else {"pfNames": [rail.interface]}
    spec: Manifest = {
        "deviceType": "netdevice",
        "isRdma": True,
        "linkType": "ib" if plan.pool.fabric == "infiniband" else "eth",
        "mtu": mtu_of(plan),
        "nicSelector": {"vendor": VENDOR, **where},
        "nodeSelector": {POOL_LABEL: plan.name},
        "numVfs": plan.pool.network.functions or 1,
        "resourceName": resource_name(plan, rail),
    }
    if plan.access and plan.access.externally_managed:
        spec["externallyManaged"] = True
    return manifest(SRIOV, "SriovNetworkNodePolicy", rail.name, namespace, spec=spec)


def _virtual(plan: PoolPlan, rail: RailPlan, namespace: str) -> Manifest:
    addresses = {"ipam": ipam(rail)} if rail.block else {}
    spec: Manifest = {"resourceName": resource_name(plan, rail), "networkNamespace": PODS, **addresses}
    if plan.pool.fabric == "infiniband":
        if plan.pool.network.partition:
            return _partitioned(plan, rail)
        return manifest(SRIOV, "SriovIBNetwork", rail.name, namespace, spec={**spec, "linkState": "enable"})
    plugins = ", ".join(json.dumps(plugin) for plugin in _plugins(plan))
    return manifest(SRIOV, "SriovNetwork", rail.name, namespace, spec={**spec, "metaPlugins": plugins})


def _plugins(plan: PoolPlan) -> Iterator[Manifest]:
    """Plugins after the interface is there; the last one keeps replies on the interface that was asked."""
    yield {"type": "tuning", "sysctl": SYSCTLS, "mtu": mtu_of(plan)}
    yield {"type": "rdma"}
    if plan.access and plan.access.attaches == "device":
        yield {"type": "sbr"}


def _partitioned(plan: PoolPlan, rail: RailPlan) -> Manifest:
    """A network whose functions ib-kubernetes puts into a partition. Source: ib-kubernetes README."""
    config: Manifest = {
        "cniVersion": "0.3.1",
        "name": rail.name,
        "type": "ib-sriov",
        "pkey": plan.pool.network.partition,
        "link_state": "enable",
        "ibKubernetesEnabled": True,
    }
    if rail.block:
        config["ipam"] = json.loads(ipam(rail))
    notes = {"k8s.v1.cni.cncf.io/resourceName": f"nvidia.com/{resource_name(plan, rail)}"}
    spec = {"config": json.dumps(config)}
    return manifest("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", rail.name, PODS, annotations=notes, spec=spec)


def _hosts(plan: PoolPlan, namespace: str) -> Manifest:
    """One host at a time is emptied when its functions change, and devices go into the network of their pod alone."""
    here = {"matchLabels": {POOL_LABEL: plan.name}}
    mode = {} if plan.access and plan.access.externally_managed else {"rdmaMode": "exclusive"}
    spec = {"nodeSelector": here, "maxUnavailable": 1, **mode}
    return manifest(SRIOV, "SriovNetworkPoolConfig", plan.name, namespace, spec=spec)


def mtu_of(plan: PoolPlan) -> int:
    """MTU of its interfaces (bytes)."""
    return plan.pool.network.mtu or (plan.access.mtu if plan.access else 0)
