"""What a stack stands on: the cloud's provider, the cluster if the stack makes one, and the way into Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

from infra.components import cloud
from infra.plan.resources import Access, Answer, Ground


class Cluster(pulumi.ComponentResource):
    """Make the cluster of a cloud with network and roles; what is in it is not its child."""

    def __init__(self, ground: Ground, made: cloud.Made, opts: pulumi.ResourceOptions) -> None:
        super().__init__("railwright:clusters:Cluster", "cloud", {}, opts)
        cloud.create(ground.resources, pulumi.ResourceOptions(parent=self), made)
        self.register_outputs({})


class Footing:
    """Providers of everything else, and what pools may refer to."""

    def __init__(self, name: str, ground: Ground | None, kubeconfig: Callable[[], Path]) -> None:
        self.made: cloud.Made = {}
        """Resources of the cluster, by Pulumi's name."""
        self.after: list[pulumi.Resource] = []
        """What hosts must wait for."""
        self.kubeconfig: pulumi.Input[str] = ""
        """How the cluster is reached: path of a kubeconfig, or its content."""
        own: list[pulumi.ProviderResource] = []
        if ground:
            cloud.create([ground.provider], pulumi.ResourceOptions(), self.made)
            own = [item for item in self.made.values() if isinstance(item, pulumi.ProviderResource)]
        if ground and ground.resources:
            self.after = [Cluster(ground, self.made, pulumi.ResourceOptions(providers=own))]
        self.opts = pulumi.ResourceOptions(providers=[self._kubernetes(name, ground, kubeconfig), *own])
        """Options of whatever goes into the cluster or beside it."""

    def _kubernetes(self, name: str, ground: Ground | None, kubeconfig: Callable[[], Path]) -> k8s.Provider:
        """Reach the cluster; only another one makes objects anew, never another address or key of the same."""
        if ground and ground.access:
            self.kubeconfig = _content(ground.access, self.made)
            return k8s.Provider("cluster", kubeconfig=self.kubeconfig, cluster_identifier=self._identity(ground.access))
        self.kubeconfig = str(kubeconfig())
        return k8s.Provider("cluster", kubeconfig=self.kubeconfig, cluster_identifier=name)

    def _identity(self, access: Access) -> pulumi.Output[str]:
        identity: pulumi.Output[str] = cloud.value(access.identity, self.made)
        return identity


def _content(access: Access, made: cloud.Made) -> pulumi.Output[str]:
    if isinstance(access.kubeconfig, Answer):
        answer: pulumi.Output[str] = cloud.value(access.kubeconfig, made)
        return answer
    whole: pulumi.Output[Mapping[str, object]] = pulumi.Output.from_input(cloud.value(access.kubeconfig, made))
    return pulumi.Output.secret(whole.apply(json.dumps))
