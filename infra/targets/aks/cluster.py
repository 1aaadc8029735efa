"""The AKS cluster itself: where it is, or how the stack makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from infra.config.clouds import Azure
from infra.config.clouds.azure import AzureMade
from infra.plan.facts import Plan
from infra.plan.resources import Access, Answer, Ground, Lifecycle, Ref, Resource

CLUSTER = "cloud-cluster"
"""Pulumi's name of the cluster."""
NETWORK = "cloud-network"
"""Pulumi's name of its network."""
HOSTS = "cloud-hosts"
"""Pulumi's name of the part of it that hosts are in."""
IDENTITY = "cloud-identity"
"""Pulumi's name of who the control plane is."""

CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
"""Role that lets the control plane put hosts into the network and into reservations of the group. Source: Azure
built-in roles; AKS, capacity reservation groups."""

MADE_MINUTES = 45
"""How long a control plane may take to be there (min). Source: our choice, above the usual ten minutes."""

SERVER_ID = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""Application of Entra ID that all of AKS's API servers are. Source: AKS, use kubelogin."""

CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
"""What tells address and authority of an API server; it has no secret of a cluster without local accounts."""

DNS_ADDRESS = 10
"""Which address of the services' network the cluster's DNS has (index). Source: AKS's own choice."""


@dataclass(frozen=True, slots=True)
class Place:
    """What agent pools go into: ids of what is there, or references to what the stack makes."""

    cluster: str | Ref
    subnet: str | Ref


def place(azure: Azure) -> Place:
    """Say where agent pools go."""
    if there := azure.existing:
        return Place(there.cluster, there.subnet)
    return Place(Ref(CLUSTER, "name"), Ref(HOSTS))


def ground(plan: Plan, azure: Azure) -> Ground:
    """The provider, bound to the spec's subscription, and all that a cluster needs where none is there."""
    bound = {"subscriptionId": azure.subscription, "location": plan.region}
    provider = Resource("pulumi:providers:azure-native", "azure", bound)
    if azure.made is None:
        return Ground(provider)
    resources = (*_network(plan, azure, azure.made), *_identity(plan, azure), _cluster(plan, azure, azure.made))
    return Ground(provider, resources, Access(Ref(CLUSTER, "resourceUID"), _kubeconfig(plan, azure)))


def _network(plan: Plan, azure: Azure, made: AzureMade) -> Iterator[Resource]:
    group = {"resourceGroupName": azure.resource_group}
    whole = {**group, "location": plan.region, "addressSpace": {"addressPrefixes": [made.network]}}
    yield Resource("azure-native:network:VirtualNetwork", NETWORK, {**whole, "virtualNetworkName": plan.cluster})
    address = {"location": plan.region, "sku": {"name": "Standard"}, "publicIPAllocationMethod": "Static"}
    yield Resource("azure-native:network:PublicIPAddress", "cloud-address", {**group, **address})
    gateway = {
        "location": plan.region,
        "sku": {"name": "Standard"},
        "publicIpAddresses": [{"id": Ref("cloud-address")}],
    }
    yield Resource("azure-native:network:NatGateway", "cloud-way-out", {**group, **gateway})
    half = next(IPv4Network(made.network).subnets(1))
    part = {"virtualNetworkName": Ref(NETWORK, "name"), "subnetName": "hosts", "addressPrefix": str(half),
            "natGateway": {"id": Ref("cloud-way-out")}}  # fmt: skip
    yield Resource("azure-native:network:Subnet", HOSTS, {**group, **part})


def _identity(plan: Plan, azure: Azure) -> Iterator[Resource]:
    """Its own, made before the cluster: one that Azure makes along with it has no rights yet when it needs them."""
    own = {"resourceGroupName": azure.resource_group, "location": plan.region}
    yield Resource("azure-native:managedidentity:UserAssignedIdentity", IDENTITY, own)
    scope = f"/subscriptions/{azure.subscription}"
    may = {
        "scope": f"{scope}/resourceGroups/{azure.resource_group}",
        "roleDefinitionId": f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{CONTRIBUTOR}",
        "principalId": Ref(IDENTITY, "principalId"),
        "principalType": "ServicePrincipal",
    }
    yield Resource("azure-native:authorization:RoleAssignment", f"{IDENTITY}-may", may)


def _cluster(plan: Plan, azure: Azure, made: AzureMade) -> Resource:
    props: dict[str, Any] = {
        "resourceGroupName": azure.resource_group,
        "resourceName": plan.cluster,
        "location": plan.region,
        "dnsPrefix": plan.cluster,
        "kubernetesVersion": plan.kubernetes,
        "sku": {"name": "Base", "tier": "Standard"},
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [Ref(IDENTITY)]},
        "enableRBAC": True,
        "disableLocalAccounts": True,
        "aadProfile": {"managed": True, "enableAzureRBAC": False, "adminGroupObjectIDs": list(made.admins)},
        "apiServerAccessProfile": {
            "enablePrivateCluster": not made.api_from,
            **({"authorizedIPRanges": list(made.api_from)} if made.api_from else {}),
        },
        "oidcIssuerProfile": {"enabled": True},
        "networkProfile": {
            "networkPlugin": "azure",
            "networkPluginMode": "overlay",
            "networkDataplane": "cilium",
            "networkPolicy": "cilium",
            "podCidr": made.pods,
            "serviceCidr": made.services,
            "dnsServiceIP": str(IPv4Network(made.services)[DNS_ADDRESS]),
            "outboundType": "userAssignedNATGateway",
        },
        # Whoever upgrades the cluster says so in the stack; security fixes of hosts come with images.
        "autoUpgradeProfile": {"upgradeChannel": "patch", "nodeOSUpgradeChannel": "None"},
        "agentPoolProfiles": [_system(made)],
    }
    # Its name is taken as long as the old one is there; its pools are resources of their own.
    life = Lifecycle(protect=plan.protected, delete_before_replace=True, timeout_minutes=MADE_MINUTES)
    return Resource(
        "azure-native:containerservice:ManagedCluster", CLUSTER, props, (f"{IDENTITY}-may",), life
    )  # fmt: skip


def _system(made: AzureMade) -> dict[str, Any]:
    """Hosts without GPUs; AKS takes no cluster without such a pool."""
    return {
        "name": "system",
        "mode": "System",
        "type": "VirtualMachineScaleSets",
        "vmSize": made.system.machine,
        "count": made.system.hosts,
        "osType": "Linux",
        "osSKU": "Ubuntu",
        "vnetSubnetID": Ref(HOSTS),
        "nodeLabels": {"railwright.dev/role": "system"},
        "upgradeSettings": {"maxSurge": "1"},
    }


def _kubeconfig(plan: Plan, azure: Azure) -> Mapping[str, Any]:
    """No key in it: a token is asked for each time, with the rights of whoever asks; AKS's own asks at a browser."""

    def said(within: str) -> Answer:
        asked = {"resourceGroupName": azure.resource_group, "resourceName": Ref(CLUSTER, "name")}
        return Answer(CREDENTIALS, asked, "kubeconfigs.0.value", is_base64=True, within=f"clusters.0.cluster.{within}")

    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin",
             "args": ["get-token", "--login", "azurecli", "--server-id", SERVER_ID],
             "interactiveMode": "Never"}  # fmt: skip
    server = {"server": said("server"), "certificate-authority-data": said("certificate-authority-data")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": plan.cluster,
        "clusters": [{"name": plan.cluster, "cluster": server}],
        "contexts": [{"name": plan.cluster, "context": {"cluster": plan.cluster, "user": plan.cluster}}],
        "users": [{"name": plan.cluster, "user": {"exec": login}}],
    }
