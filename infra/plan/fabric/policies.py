"""NIC policies: what the Network Operator puts on all hosts, and on those of each pool."""

from __future__ import annotations

import json
from collections.abc import Mapping

from infra.catalog.fabrics.images import FIRST_WITH_NODE_POLICY, OFED, REGISTRY
from infra.plan.fabric.networks import MELLANOX, VENDOR, resource_name
from infra.plan.fabric.rails import interfaces_of, networks_of, rails_of
from infra.plan.facts import ModelPlan, Plan, PoolPlan
from infra.plan.labels import POOL_LABEL, tolerations
from infra.plan.manifests.base import Manifest, manifest

CLUSTER_POLICY = "nic-cluster-policy"
"""Name of the one NicClusterPolicy; no other is heeded. Source: network-operator 26.4.1, consts."""

READY_SECONDS = 60 * 60
"""Longest wait for a policy (seconds): hosts compile the driver in a quarter of an hour, one after another at most.
Source: our choice, above the 45 minutes that pulumi-kubernetes' largest default would need."""

READY = {"pulumi.com/waitFor": "jsonpath={.status.state}=ready", "pulumi.com/timeoutSeconds": str(READY_SECONDS)}
"""A policy is done when the operator says so, not when it is written. Source: pulumi-kubernetes, waitFor."""

DRAIN_SECONDS = 300
"""Shortest wait for a host to be empty before its driver is loaded (seconds). Source: nicclusterpolicy_cr-full.yaml."""

FULL_RANGE = {"pKeyGUIDPoolRangeStart": "02:00:00:00:00:00:00:00", "pKeyGUIDPoolRangeEnd": "02:FF:FF:FF:FF:FF:FF:FF"}
"""GUIDs that ib-kubernetes gives out. Source: nicclusterpolicy_cr-full.yaml."""

SECTIONS = ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin")
"""Sections that a NicNodePolicy may have, or else the NicClusterPolicy, but never both. Source: network-operator
26.4.1, docs/heterogeneous-cluster-support.md."""


def served(plan: Plan) -> tuple[PoolPlan, ...]:
    """Pools whose fabric the Network Operator serves."""
    if not plan.ownership.network_operator:
        return ()
    return tuple(pool for pool in plan.pools if pool.access and pool.access.by_operator)


def knows_node_policies(version: str) -> bool:
    """Whether a version of the Network Operator has NicNodePolicy."""
    numbers = [int(part) for part in version.removeprefix("v").split(".")[:2] if part.isdigit()]
    return tuple(numbers) >= FIRST_WITH_NODE_POLICY


def policies(plan: Plan, version: str) -> dict[str, Manifest]:
    """The cluster's policy and those of pools: part → manifest.

    Args:
        version: of the Network Operator.
    """
    made = {pool.name: sections(plan, pool, version) for pool in served(plan)}
    common: Manifest = {"tolerations": tolerations(served(plan)), **_cluster(plan, version)}
    if not knows_node_policies(version):
        # Two pools that differ are refused, so that one section stands for all.
        common |= {key: value for own in made.values() for key, value in own.items()}
        return {"cluster": manifest(MELLANOX, "NicClusterPolicy", CLUSTER_POLICY, annotations=READY, spec=common)}
    parts = {"cluster": manifest(MELLANOX, "NicClusterPolicy", CLUSTER_POLICY, annotations=READY, spec=common)}
    for pool in served(plan):
        if own := made[pool.name]:
            spec = {"nodeSelector": {POOL_LABEL: pool.name}, "tolerations": tolerations([pool]), **own}
            parts[f"pool-{pool.name}"] = manifest(MELLANOX, "NicNodePolicy", pool.name, annotations=READY, spec=spec)
    return parts


def sections(plan: Plan, pool: PoolPlan, version: str) -> dict[str, Manifest]:
    """What a pool's hosts need of their own: driver and device plugin."""
    access, made = pool.access, {}
    if pool.ownership.ofed == "operator":
        made["ofedDriver"] = _driver(plan, pool, version)
    if access and access.server == "shared plugin":
        config = json.dumps({"periodicUpdateInterval": 300, "configList": [_shared(pool)]})
        made["rdmaSharedDevicePlugin"] = {**_image(plan, "k8s-rdma-shared-dev-plugin", version), "config": config}
    if access and access.server == "function plugin":
        config = json.dumps({"resourceList": _functions(pool)})
        made["sriovDevicePlugin"] = {**_image(plan, "sriov-network-device-plugin", version), "config": config}
    return made


def _image(plan: Plan, name: str, version: str) -> Manifest:
    release = f"network-operator-v{version.removeprefix('v')}"
    return {"image": name, "repository": plan.fabric.registry or REGISTRY, "version": release}


def _cluster(plan: Plan, version: str) -> Manifest:
    pools = served(plan)
    made: Manifest = {}
    if any(networks_of(pool) for pool in pools):
        second = {"cniPlugins": _image(plan, "plugins", version), "multus": _image(plan, "multus-cni", version)}
        if any(pool.pool.fabric == "infiniband" and pool.access and pool.access.mode == "shared" for pool in pools):
            second["ipoib"] = _image(plan, "ipoib-cni", version)
        made["secondaryNetwork"] = second
    if any(rail.block for pool in pools for rail in rails_of(pool)):
        made["nvIpam"] = {**_image(plan, "nvidia-k8s-ipam", version), "enableWebhook": False}
    if any(pool.pool.network.partition for pool in pools):
        made["ibKubernetes"] = {
            **_image(plan, "ib-kubernetes", version),
            **FULL_RANGE,
            "ufmSecret": plan.fabric.ufm_secret,
        }
    return made


def _driver(plan: Plan, pool: PoolPlan, version: str) -> Manifest:
    driver = OFED.get(version.removeprefix("v"), "")
    longest = max((_empty(model) for model in plan.models if model.pool.name == pool.name), default=0)
    return {
        "image": "doca-driver",
        "repository": plan.fabric.registry or REGISTRY,
        "version": driver,
        # The race of modules at boot: doca-driver-build#52; aks-rdma-infiniband configs/nicclusterpolicy/base/nic.yaml.
        "env": [{"name": "OFED_BLACKLIST_MODULES_FILE", "value": "/host/etc/modprobe.d/blacklist-ofed-modules.conf"}],
        "startupProbe": {"initialDelaySeconds": 10, "periodSeconds": 20},
        "livenessProbe": {"initialDelaySeconds": 30, "periodSeconds": 30},
        "readinessProbe": {"initialDelaySeconds": 10, "periodSeconds": 30},
        "upgradePolicy": {
            "autoUpgrade": True,
            "maxParallelUpgrades": 1,
            # A driver that is reloaded under running pods takes their devices away.
            "safeLoad": True,
            "drain": {
                "enable": True,
                # A pod that nobody would make again is not deleted; the upgrade stops at its host instead.
                "force": False,
                "deleteEmptyDir": True,
                "timeoutSeconds": max(DRAIN_SECONDS, longest),
            },
        },
    }


def _empty(model: ModelPlan) -> int:
    """How long a host waits for the answers of a model (seconds)."""
    return model.shutdown.grace


def _shared(pool: PoolPlan) -> Mapping[str, object]:
    """As many shares as the count says, so that pods of a host cannot ask for more rails than it has."""
    access = pool.access
    prefix, _, name = (access.resource if access else "").partition("/")
    vendor = {"vendors": [VENDOR]}
    if access and access.attaches == "no":
        chosen: dict[str, list[str]] = {**vendor, "linkTypes": ["infiniband"]}
    else:
        chosen = {**vendor, "ifNames": list(interfaces_of(pool))}
    return {"resourcePrefix": prefix, "resourceName": name, "rdmaHcaMax": pool.rdma_devices, "selectors": chosen}


def _functions(pool: PoolPlan) -> list[Mapping[str, object]]:
    access = pool.access
    if access is None or access.asks != "rails":
        prefix, _, name = (access.resource if access else "").partition("/")
        chosen = {"vendors": [VENDOR], "linkTypes": ["infiniband"], "isRdma": True}
        return [{"resourcePrefix": prefix, "resourceName": name, "selectors": chosen}]
    prefix = access.resource.partition("/")[0]
    return [
        {
            "resourcePrefix": prefix,
            "resourceName": resource_name(pool, rail),
            "selectors": {"vendors": [VENDOR], "isRdma": True, "pfNames": [rail.interface]},
        }
        for rail in rails_of(pool)
    ]
