"""The OKE cluster itself: where it is, or how the stack makes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.config.clouds import Oci
from infra.config.clouds.oci import OciMade
from infra.plan.facts import Plan
from infra.plan.resources import Access, Answer, Ground, Lifecycle, Ref, Resource
from infra.targets.oci import network

CLUSTER = "cloud-cluster"
"""Pulumi's name of the cluster."""

KUBECONFIG = "oci:ContainerEngine/getClusterKubeConfig:getClusterKubeConfig"
"""What tells how an API server is reached; no key is in it, a token is asked for each time."""

MADE_MINUTES = 45
"""How long a control plane may take to be there (min). Source: our choice, above the usual ten minutes."""

CNI = "FLANNEL_OVERLAY"
"""How pods are joined; hosts that join by themselves need no address of the network for each pod then. Source: OKE,
self-managed nodes."""

FLEXIBLE = {"ocpus": 8, "memoryInGbs": 64}
"""Cores and memory of a host without GPUs whose shape leaves them open (OCPU, GB). Source: our choice."""


@dataclass(frozen=True, slots=True)
class Place:
    """What hosts go into: ids of what is there, or references to what the stack makes."""

    cluster: str | Ref
    subnet: str | Ref
    security_groups: tuple[str | Ref, ...]
    api_host: str | Ref
    """Address of the API server within the network."""
    api_ca: str | Answer
    """Its authority's certificate in base64."""


def place(oci: Oci) -> Place:
    """Say where hosts go."""
    if there := oci.existing:
        return Place(there.cluster, there.subnet, there.security_groups, there.api_host, there.api_ca)
    return Place(
        Ref(CLUSTER),
        Ref(network.HOSTS),
        (Ref(network.HOST_GROUP),),
        Ref(CLUSTER, "endpoints.0.privateEndpoint", until=":"),
        Answer(KUBECONFIG, {"clusterId": Ref(CLUSTER)}, "content",
               within="clusters.0.cluster.certificate-authority-data"),
    )  # fmt: skip


def ground(plan: Plan, oci: Oci) -> Ground:
    """The provider, bound to the spec's region, and all that a cluster needs where none is there."""
    provider = Resource("pulumi:providers:oci", "oci", {"region": plan.region})
    if oci.made is None:
        return Ground(provider)
    resources = (*network.resources(plan, oci, oci.made), *_cluster(plan, oci, oci.made))
    endpoint = "PUBLIC_ENDPOINT" if oci.made.api_from else "PRIVATE_ENDPOINT"
    answer = Answer(KUBECONFIG, {"clusterId": Ref(CLUSTER), "endpoint": endpoint}, "content")
    return Ground(provider, resources, Access(Ref(CLUSTER), answer))


def _cluster(plan: Plan, oci: Oci, made: OciMade) -> Iterator[Resource]:
    props: dict[str, Any] = {
        "compartmentId": oci.compartment,
        "name": plan.cluster,
        # Only these take hosts that join by themselves.
        "type": "ENHANCED_CLUSTER",
        "kubernetesVersion": oci.kubernetes,
        "vcnId": Ref(network.VCN),
        "clusterPodNetworkOptions": [{"cniType": CNI}],
        "endpointConfig": {
            "subnetId": Ref(network.API),
            "isPublicIpEnabled": bool(made.api_from),
            "nsgIds": [Ref(network.API_GROUP)],
        },
        "options": {
            "kubernetesNetworkConfig": {"podsCidr": made.pods, "servicesCidr": made.services},
            "serviceLbSubnetIds": [Ref(network.DOORS)],
        },
    }
    life = Lifecycle(protect=plan.protected, timeout_minutes=MADE_MINUTES)
    yield Resource("oci:ContainerEngine/cluster:Cluster", CLUSTER, props, lifecycle=life)
    system: dict[str, Any] = {
        "compartmentId": oci.compartment,
        "clusterId": Ref(CLUSTER),
        "name": "system",
        "kubernetesVersion": oci.kubernetes,
        "nodeShape": made.system.machine,
        "nodeSourceDetails": {"sourceType": "IMAGE", "imageId": made.system_image},
        "nodeConfigDetails": {
            "size": made.system.hosts,
            "placementConfigs": [{"availabilityDomain": made.zone, "subnetId": Ref(network.HOSTS)}],
            "nsgIds": [Ref(network.HOST_GROUP)],
            "nodePoolPodNetworkOptionDetails": {"cniType": CNI},
        },
        "initialNodeLabels": [{"key": "railwright.dev/role", "value": "system"}],
        "nodePoolCyclingDetails": {"isNodeCyclingEnabled": True, "maximumSurge": "1", "maximumUnavailable": "0"},
    }
    if made.system.machine.endswith(".Flex"):
        system["nodeShapeConfig"] = FLEXIBLE
    yield Resource("oci:ContainerEngine/nodePool:NodePool", "cloud-system", system, network.RULES)
