"""Every part of the lab: how it is started, what it reads, and how to tell that it works."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Literal

from lab.cluster import ssh
from lab.cluster.configs import CLIENT_BURST, CLIENT_QPS
from lab.cluster.hosts import FIRST, Host
from lab.cluster.lab import SYSTEM_PATH, Lab

ProbeKind = Literal["https", "http", "unix", "dns", "ssh", "process"]
"""Ways to ask a part whether it works."""


@dataclass(frozen=True)
class Probe:
    """One question that a working part answers.

    Args:
        kind: ``process`` asks only whether it runs.
        port: where it listens.
        host: the real host on whose address; the first where it plays no role.
        path: page, socket or name to ask for.
        as_identity: client certificate to show.
    """

    kind: ProbeKind
    port: int = 0
    path: str = ""
    as_identity: str = ""
    host: Host = FIRST


@dataclass(frozen=True)
class Part:
    """One supervised program.

    Args:
        command: program and arguments.
        reads: files whose change must restart it, below the state folder.
        probe: how to tell that it works.
        version: how to ask for its version; empty when it is ours.
        stop_seconds: how long it may take to end before it is killed (s).
        is_patient: its pause between two tries grows to 30 s, so it is started again once the API server works.
    """

    name: str
    command: tuple[str, ...]
    reads: tuple[str, ...]
    probe: Probe
    version: tuple[str, ...] = ()
    stop_seconds: int = 10
    is_patient: bool = False


def parts(lab: Lab) -> tuple[Part, ...]:
    """The parts of a lab, in the order in which they are started."""
    control_plane = (etcd(lab), api_server(lab), controller_manager(lab), scheduler(lab))
    simulation = (kwok(lab), fleet(lab))
    own = tuple(part for host in lab.hosts for part in (containerd(lab, host), kubelet(lab, host)))
    shared = () if lab.simulated else (kube_proxy(lab), coredns(lab), sshd(lab))
    return control_plane + own + shared + simulation


def etcd(lab: Lab) -> Part:
    """The store; mutual TLS on every connection."""
    pki, ports, node = lab.pki, lab.network.ports, lab.network.node_ip
    peer = f"https://{node}:{ports.etcd_peer}"
    command = (
        lab.tool("etcd"),
        f"--name={FIRST.name}",
        f"--data-dir={lab.state}/etcd",
        f"--listen-client-urls=https://{node}:{ports.etcd}",
        f"--advertise-client-urls=https://{node}:{ports.etcd}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={FIRST.name}={peer}",
        # Numbers only, so without a certificate.
        f"--listen-metrics-urls=http://{node}:{ports.etcd_metrics}",
        f"--cert-file={pki}/etcd.crt",
        f"--key-file={pki}/etcd.key",
        "--client-cert-auth=true",
        f"--trusted-ca-file={pki}/etcd-ca.crt",
        f"--peer-cert-file={pki}/etcd.crt",
        f"--peer-key-file={pki}/etcd.key",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={pki}/etcd-ca.crt",
        "--log-level=warn",
        "--logger=zap",
        "--log-outputs=stderr",
    )
    reads = ("pki/etcd.crt", "pki/etcd-ca.crt")
    probe = Probe("https", ports.etcd, "/readyz", "etcd-client")
    return Part("etcd", command, reads, probe, (lab.tool("etcd"), "--version"))


def api_server(lab: Lab) -> Part:
    """The API: no anonymous access, node authorizer and RBAC, Secrets encrypted at rest."""
    network, tool = lab.network, lab.tool("kube-apiserver")
    command = (
        tool,
        f"--bind-address={network.node_ip}",
        f"--secure-port={network.ports.api}",
        f"--etcd-servers=https://{network.node_ip}:{network.ports.etcd}",
        "--anonymous-auth=false",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--encryption-provider-config={lab.config}/encryption.yaml",
        f"--service-cluster-ip-range={network.services}",
        "--kubelet-preferred-address-types=InternalIP",
        "--allow-privileged=true",
        "--profiling=false",
        f"--cert-dir={lab.run}",
        f"--advertise-address={network.host_ip if lab.simulated else network.node_ip}",
        # Nothing inside a simulated lab could reach the API through its Service.
        f"--endpoint-reconciler-type={'none' if lab.simulated else 'lease'}",
        *_api_server_trust(lab),
    )
    certificates = ("ca", "kube-apiserver", "etcd-ca", "etcd-client", "kube-apiserver-kubelet")
    front = ("front-proxy-ca", "front-proxy-client")
    reads = tuple(f"pki/{name}.crt" for name in certificates + front)
    reads += ("pki/service-account.pub", "config/encryption.yaml")
    probe = Probe("https", network.ports.api, "/readyz", "admin")
    return Part("kube-apiserver", command, reads, probe, (tool, "--version"), stop_seconds=15)


def _api_server_trust(lab: Lab) -> tuple[str, ...]:
    """Who the API server is to each of its peers, and whom it believes."""
    pki = lab.pki
    return (
        f"--etcd-cafile={pki}/etcd-ca.crt",
        f"--etcd-certfile={pki}/etcd-client.crt",
        f"--etcd-keyfile={pki}/etcd-client.key",
        f"--tls-cert-file={pki}/kube-apiserver.crt",
        f"--tls-private-key-file={pki}/kube-apiserver.key",
        "--tls-min-version=VersionTLS12",
        f"--client-ca-file={pki}/ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/kube-apiserver-kubelet.crt",
        f"--kubelet-client-key={pki}/kube-apiserver-kubelet.key",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
        f"--proxy-client-key-file={pki}/front-proxy-client.key",
    )


def controller_manager(lab: Lab) -> Part:
    """The control loops, each with an account of its own."""
    name, port = "kube-controller-manager", lab.network.ports.kube_controller_manager
    command = (
        *_served(lab, name, port),
        f"--kubeconfig={lab.config}/{name}.kubeconfig",
        f"--kube-api-qps={CLIENT_QPS}",
        f"--kube-api-burst={CLIENT_BURST}",
        "--profiling=false",
        # As kubeadm has it: without the API server it loses its election, ends and begins anew. One that went on would
        # call every host lost as soon as the server is back, as it has heard of none, and take all replicas away.
        "--leader-elect=true",
        "--use-service-account-credentials=true",
        f"--root-ca-file={lab.pki}/ca.crt",
        f"--service-account-private-key-file={lab.pki}/service-account.key",
        # Without it, it ends when it is faster than the API server; the scheduler has it by default.
        "--authentication-tolerate-lookup-failure=true",
        # A restarted KWOK takes over a lease of 40 s only when it has run out; hosts must not flap meanwhile.
        "--node-monitor-grace-period=60s",
    )
    reads = ("pki/ca.crt", "pki/service-account.pub", f"pki/{name}.crt", f"config/{name}.kubeconfig")
    return Part(name, command, reads, Probe("https", port, "/healthz"), (lab.tool(name), "--version"))


def scheduler(lab: Lab) -> Part:
    """Where pods go."""
    name, port = "kube-scheduler", lab.network.ports.kube_scheduler
    reads = ("pki/ca.crt", f"pki/{name}.crt", f"config/{name}.kubeconfig", f"config/{name}.yaml")
    # With a file, it reads neither its kubeconfig nor its pace from arguments.
    command = (*_served(lab, name, port), f"--config={lab.config}/{name}.yaml")
    return Part(name, command, reads, Probe("https", port, "/healthz"), (lab.tool(name), "--version"))


def _served(lab: Lab, name: str, port: int) -> tuple[str, ...]:
    """How the controller-manager and the scheduler are asked how they are."""
    access = f"{lab.config}/{name}.kubeconfig"
    return (
        lab.tool(name),
        f"--bind-address={lab.network.node_ip}",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={access}",
        f"--authorization-kubeconfig={access}",
        f"--tls-cert-file={lab.pki}/{name}.crt",
        f"--tls-private-key-file={lab.pki}/{name}.key",
        f"--client-ca-file={lab.pki}/ca.crt",
    )


def containerd(lab: Lab, host: Host) -> Part:
    """The container runtime of a host; containers outlive it."""
    name, tool = host.part("containerd"), lab.tool("containerd")
    command = (tool, f"--config={lab.config}/{name}.toml", "--log-level=warn")
    return Part(
        name, command, (f"config/{name}.toml",), Probe("unix", path=host.containerd_socket), (tool, "--version")
    )


def kubelet(lab: Lab, host: Host) -> Part:
    """The node agent of a host."""
    name, tool = host.part("kubelet"), lab.tool("kubelet")
    command = (
        tool,
        f"--config={lab.config}/{name}.yaml",
        f"--kubeconfig={lab.config}/{name}.kubeconfig",
        f"--root-dir={lab.state}/{name}",
        f"--cert-dir={lab.run}",
        f"--hostname-override={host.name}",
        f"--node-ip={lab.network.address_of(host)}",
        # Read by its metrics of containers only, which would be those of the first host otherwise.
        f"--containerd={host.containerd_socket}",
    )
    reads = ("pki/ca.crt", f"pki/{name}.crt", f"config/{name}.yaml", f"config/{name}.kubeconfig", "config/resolv.conf")
    probe = Probe("http", lab.network.ports.kubelet_health, "/healthz", host=host)
    return Part(name, command, reads, probe, (tool, "--version"))


def kube_proxy(lab: Lab) -> Part:
    """Services on all real hosts, for they share their network."""
    command = (lab.tool("kube-proxy"), f"--config={lab.config}/kube-proxy.yaml")
    reads = ("config/kube-proxy.yaml", "config/kube-proxy.kubeconfig")
    probe = Probe("http", lab.network.ports.kube_proxy_health, "/healthz")
    return Part("kube-proxy", command, reads, probe, (lab.tool("kube-proxy"), "--version"))


def coredns(lab: Lab) -> Part:
    """Names of Services, answered on the node's address."""
    command = (lab.tool("coredns"), f"-conf={lab.config}/Corefile")
    reads = ("config/Corefile", "config/coredns.kubeconfig")
    probe = Probe("dns", 53, "kubernetes.default.svc.cluster.local")
    return Part("coredns", command, reads, probe, (lab.tool("coredns"), "-version"), is_patient=True)


def sshd(lab: Lab) -> Part:
    """The way into the real hosts: a session is where their processes are, with the same variables."""
    tool = shutil.which("dropbear", path=SYSTEM_PATH) or "dropbear"
    ports = [f"-p{lab.network.address_of(host)}:{lab.network.ports.ssh}" for host in lab.hosts]
    # Foreground, log to stderr, keep the variables, no passwords, no message of the day.
    command = (tool, "-F", "-E", "-e", "-s", "-m", f"-r{lab.state}/{ssh.HOST_KEY}", *ports)
    return Part("sshd", command, (ssh.HOST_KEY,), Probe("ssh", lab.network.ports.ssh), (tool, "-V"))


def kwok(lab: Lab) -> Part:
    """The life of simulated hosts and their pods."""
    stages = sorted((lab.tools / "kwok-stages").glob("*.yaml"))
    address = f"{lab.network.node_ip}:{lab.network.ports.kwok}"
    command = (
        lab.tool("kwok"),
        f"--kubeconfig={lab.config}/kwok.kubeconfig",
        *(f"--config={path}" for path in stages),
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        f"--cidr={lab.network.simulated_pods}",
        f"--node-ip={lab.network.host_ip}",
        f"--server-address={address}",
    )
    reads = ("config/kwok.kubeconfig",)
    return Part(
        "kwok", command, reads, Probe("http", lab.network.ports.kwok, "/healthz"), (lab.tool("kwok"), "--version")
    )


def fleet(lab: Lab) -> Part:
    """Our controller that makes a pool's hosts."""
    access = f"{lab.config}/fleet.kubeconfig"
    address = f"{lab.network.node_ip}:{lab.network.ports.fleet}"
    command = (lab.python, "-m", "lab.fleet", "--kubeconfig", access, "--metrics", address)
    return Part("fleet", command, ("config/fleet.kubeconfig",), Probe("http", lab.network.ports.fleet, "/metrics"))
