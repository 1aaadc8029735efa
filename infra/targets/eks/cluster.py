"""The EKS cluster itself: where it is, or how the stack makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.config.clouds import Aws
from infra.config.clouds.aws import AwsMade
from infra.plan.facts import Plan
from infra.plan.resources import Access, Ground, Lifecycle, Ref, Resource
from infra.targets.eks import network, roles

CLUSTER = "cloud-cluster"
"""Pulumi's name of the cluster."""

IDENTITY = Ref(CLUSTER, "identities.0.oidcs.0.issuer")
"""What no other cluster has, even one of the same name. Source: EKS API, OIDC: a URL made for each cluster."""

ADDONS = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns")
"""Add-ons of EKS that a cluster made without them lacks, those that pods need first. Source: EKS, add-ons."""

MADE_MINUTES = 45
"""How long a control plane may take to be there (min). Source: our choice, above the usual quarter of an hour."""


@dataclass(frozen=True, slots=True)
class Place:
    """What node groups go into: ids of what is there, or references to what the stack makes."""

    name: str
    """Name of the cluster, as far as it is known before."""
    cluster: str | Ref
    vpc: str | Ref
    subnets: Mapping[str, str | Ref]
    """Private subnet by zone."""
    security_group: str | Ref
    node_role: str | Ref


def place(plan: Plan, aws: Aws) -> Place:
    """Say where node groups go."""
    if there := aws.existing:
        return Place(there.cluster, there.cluster, there.vpc, there.subnets, there.security_group, there.node_role)
    zones = aws.made.zones if aws.made else ()
    return Place(
        plan.cluster,
        Ref(CLUSTER, "name"),
        Ref(network.VPC),
        {zone: Ref(network.private(zone)) for zone in zones},
        Ref(CLUSTER, "vpcConfig.clusterSecurityGroupId"),
        Ref(roles.NODES, "arn"),
    )


def ground(plan: Plan, aws: Aws) -> Ground:
    """The provider, bound to the spec's region, and all that a cluster needs where none is there."""
    provider = Resource("pulumi:providers:aws", "aws", {"region": plan.region})
    if aws.made is None:
        return Ground(provider)
    resources = (*network.resources(plan, aws.made), *roles.resources(), *_cluster(plan, aws.made))
    return Ground(provider, resources, Access(IDENTITY, _kubeconfig(plan)))


def _cluster(plan: Plan, made: AwsMade) -> Iterator[Resource]:
    props: dict[str, Any] = {
        "name": plan.cluster,
        "version": plan.kubernetes,
        "roleArn": Ref(roles.CONTROL, "arn"),
        "vpcConfig": {
            "subnetIds": [Ref(network.private(zone)) for zone in made.zones],
            "endpointPrivateAccess": True,
            "endpointPublicAccess": bool(made.api_from),
            **({"publicAccessCidrs": list(made.api_from)} if made.api_from else {}),
        },
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": made.services},
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "bootstrapSelfManagedAddons": False,
        "enabledClusterLogTypes": ["api", "audit", "authenticator"],
        "upgradePolicy": {"supportType": "STANDARD"},
        "deletionProtection": plan.protected,
    }
    # Its name is taken as long as the old one is there.
    life = Lifecycle(protect=plan.protected, delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    yield Resource("aws:eks/cluster:Cluster", CLUSTER, props, (roles.CONTROL_MAY,), life)
    for name in ADDONS:
        own = {"clusterName": Ref(CLUSTER, "name"), "addonName": name}
        after = ("cloud-system",) if name == "coredns" else ()
        if after:
            yield _system(made)
        yield Resource("aws:eks/addon:Addon", f"cloud-addon-{name}", own, after)


def _system(made: AwsMade) -> Resource:
    """Hosts without GPUs; CoreDNS waits for them, and they for the network add-on."""
    props = {
        "clusterName": Ref(CLUSTER, "name"),
        "nodeRoleArn": Ref(roles.NODES, "arn"),
        "subnetIds": [Ref(network.private(zone)) for zone in made.zones],
        "instanceTypes": [made.system.machine],
        "amiType": "AL2023_x86_64_STANDARD",
        "scalingConfig": {"desiredSize": made.system.hosts, "minSize": 1, "maxSize": made.system.hosts + 1},
        "updateConfig": {"maxUnavailable": 1},
        "labels": {"railwright.dev/role": "system"},
    }
    routes = tuple(network.route(zone) for zone in made.zones)
    after = ("cloud-addon-vpc-cni", *roles.NODES_MAY, *routes)
    return Resource("aws:eks/nodeGroup:NodeGroup", "cloud-system", props, after)


def _kubeconfig(plan: Plan) -> Mapping[str, Any]:
    """No key in it: a token is asked for each time, with the rights of whoever asks."""
    token = ["eks", "get-token", "--cluster-name", Ref(CLUSTER, "name"), "--region", plan.region, "--output", "json"]
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": token,
             "interactiveMode": "Never"}  # fmt: skip
    server = {
        "server": Ref(CLUSTER, "endpoint"),
        "certificate-authority-data": Ref(CLUSTER, "certificateAuthority.data"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": plan.cluster,
        "clusters": [{"name": plan.cluster, "cluster": server}],
        "contexts": [{"name": plan.cluster, "context": {"cluster": plan.cluster, "user": plan.cluster}}],
        "users": [{"name": plan.cluster, "user": {"exec": login}}],
    }
