"""Who talks to whom in one lab: a certificate for each, signed by the authority that its peers trust."""

from __future__ import annotations

from dataclasses import dataclass

from lab.cluster.hosts import HOSTS, Host
from lab.cluster.network import Network

AUTHORITIES = ("ca", "etcd-ca", "front-proxy-ca")
"""Separate, so that a client of the API server is never a client of etcd."""


@dataclass(frozen=True)
class Identity:
    """One holder of a certificate.

    Args:
        name: file name without ending.
        authority: who signs.
        common_name: user name in Kubernetes.
        groups: groups in Kubernetes.
        dns: names it serves under.
        ips: addresses it serves under.
        calls: False for a certificate that only serves.
    """

    name: str
    authority: str
    common_name: str
    groups: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    ips: tuple[str, ...] = ()
    calls: bool = True


def identities(network: Network) -> tuple[Identity, ...]:
    """All certificates of a lab with these addresses."""
    here = (network.node_ip,) if network.simulated else (network.node_ip, "127.0.0.1")
    service = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    api_ips = (*here, network.kubernetes_service_ip)
    control_plane = (
        Identity("etcd", "etcd-ca", "etcd", dns=("localhost",), ips=here),
        Identity("etcd-client", "etcd-ca", "kube-apiserver"),
        Identity("front-proxy-client", "front-proxy-ca", "front-proxy-client"),
        Identity("kube-apiserver", "ca", "kube-apiserver", dns=(*service, "localhost"), ips=api_ips, calls=False),
        Identity("kube-apiserver-kubelet", "ca", "railwright:kube-apiserver"),
        Identity("kube-controller-manager", "ca", "system:kube-controller-manager", ips=here),
        Identity("kube-scheduler", "ca", "system:kube-scheduler", ips=here),
        Identity("kwok", "ca", "railwright:kwok"),
        Identity("fleet", "ca", "railwright:fleet"),
        Identity("admin", "ca", "railwright:admin", ("system:masters",)),
    )
    if network.simulated:
        return control_plane
    shared = (
        Identity("kube-proxy", "ca", "system:kube-proxy"),
        Identity("coredns", "ca", "railwright:coredns"),
        _gateway(network),
    )
    return control_plane + tuple(_kubelet(network, host) for host in HOSTS) + shared


def _gateway(network: Network) -> Identity:
    """What clients of the gateway see when they come by https."""
    ips = (*(network.address_of(host) for host in HOSTS), "127.0.0.1")
    return Identity("gateway", "ca", "gateway", dns=("localhost", "gateway.gateway.svc"), ips=ips, calls=False)


def _kubelet(network: Network, host: Host) -> Identity:
    ips = (network.address_of(host), "127.0.0.1")
    return Identity(host.part("kubelet"), "ca", f"system:node:{host.name}", ("system:nodes",), (host.name,), ips)
