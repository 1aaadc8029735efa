"""The GKE cluster itself: where it is, or how the stack makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.config.clouds import Gcp, GpuNetwork
from infra.config.clouds.gcp import GcpMade
from infra.plan.facts import Plan
from infra.plan.resources import Access, Ground, Lifecycle, Ref, Resource, Text
from infra.targets.gke import vpc

CLUSTER = "cloud-cluster"
"""Pulumi's name of the cluster."""

ENDPOINT = Ref(CLUSTER, "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint")
"""A name under which the API server answers whoever Google knows, with a certificate that everybody trusts; no other
cluster has it. Source: GKE, DNS-based endpoint."""

MADE_MINUTES = 45
"""How long a control plane may take to be there (min). Source: our choice, above the provider's usual quarter hour."""

ZONES = 3
"""Zones of a region over which GKE spreads a pool that names none (count). Source: GKE, regional clusters."""

NODES = "cloud-nodes"
"""Pulumi's name of the hosts' account."""


@dataclass(frozen=True, slots=True)
class Place:
    """What node pools go into: names of what is there, or references to what the stack makes."""

    cluster: str | Ref
    location: str
    networks: tuple[GpuNetwork, ...]
    """Of the interfaces beside the first, in their order."""
    service_account: str | Ref
    """Account of the hosts; empty: the project's default one."""


def place(plan: Plan, gcp: Gcp) -> Place:
    """Say where node pools go."""
    if there := gcp.existing:
        return Place(there.cluster, there.location, there.networks, gcp.service_account)
    account = gcp.service_account or Ref(NODES, "email")
    return Place(Ref(CLUSTER, "name"), plan.region, tuple(vpc.named(plan)), account)


def ground(plan: Plan, gcp: Gcp) -> Ground:
    """The provider, bound to the spec's project and region, and all that a cluster needs where none is there."""
    provider = Resource("pulumi:providers:gcp", "gcp", {"project": gcp.project, "region": plan.region})
    if gcp.made is None:
        return Ground(provider)
    account = () if gcp.service_account else tuple(_account(plan, gcp.project))
    resources = (*vpc.resources(plan, gcp.made, gcp.project), *account, *_cluster(plan, gcp, gcp.made))
    return Ground(provider, resources, Access(ENDPOINT, _kubeconfig(plan)))


def _account(plan: Plan, project: str) -> Iterator[Resource]:
    """An account of the hosts that may do what every host of GKE must, and no more."""
    props = {"accountId": f"{plan.cluster[:24]}-nodes", "displayName": f"hosts of cluster {plan.cluster}"}
    yield Resource("gcp:serviceaccount/account:Account", NODES, props)
    own = {
        "project": project,
        "role": "roles/container.defaultNodeServiceAccount",
        "member": Text(("serviceAccount:", Ref(NODES, "email"))),
    }
    yield Resource("gcp:projects/iAMMember:IAMMember", "cloud-nodes-may", own)


def _cluster(plan: Plan, gcp: Gcp, made: GcpMade) -> Iterator[Resource]:
    props: dict[str, Any] = {
        "name": plan.cluster,
        "location": plan.region,
        "minMasterVersion": plan.kubernetes,
        "releaseChannel": {"channel": "REGULAR"},
        "network": Ref(vpc.NETWORK, "selfLink"),
        "subnetwork": Ref(vpc.HOSTS, "selfLink"),
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        # Pods have interfaces in several networks only with both.
        "datapathProvider": "ADVANCED_DATAPATH",
        "enableMultiNetworking": True,
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": not made.api_from},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": cidr} for cidr in made.api_from]},
        "workloadIdentityConfig": {"workloadPool": f"{gcp.project}.svc.id.goog"},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "deletionProtection": plan.protected,
    }
    # Its name is taken as long as the old one is there.
    life = Lifecycle(protect=plan.protected, delete_before_replace=True, timeout_minutes=MADE_MINUTES,
                     ignore=("nodeConfig",))  # fmt: skip
    after = (vpc.WAY_OUT,) if gcp.service_account else (vpc.WAY_OUT, "cloud-nodes-may")
    yield Resource("gcp:container/cluster:Cluster", CLUSTER, props, after, life)
    system = {
        "cluster": Ref(CLUSTER, "name"),
        "location": plan.region,
        "nodeCount": -(-made.system.hosts // ZONES),
        "management": {"autoRepair": True, "autoUpgrade": True},
        "nodeConfig": {
            "machineType": made.system.machine,
            "serviceAccount": gcp.service_account or Ref(NODES, "email"),
            "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "labels": {"railwright.dev/role": "system"},
            "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        },
    }
    yield Resource("gcp:container/nodePool:NodePool", "cloud-system", system)


def _kubeconfig(plan: Plan) -> Mapping[str, Any]:
    """No key in it: a token is asked for each time, with the rights of whoever asks."""
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "gke-gcloud-auth-plugin",
             "provideClusterInfo": True, "interactiveMode": "Never"}  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": plan.cluster,
        "clusters": [{"name": plan.cluster, "cluster": {"server": Text(("https://", ENDPOINT))}}],
        "contexts": [{"name": plan.cluster, "context": {"cluster": plan.cluster, "user": plan.cluster}}],
        "users": [{"name": plan.cluster, "user": {"exec": login}}],
    }
