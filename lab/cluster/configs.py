"""Render the configuration files of every part; pure, and the same input always gives the same text."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lab.cluster.hosts import FIRST, Host
from lab.cluster.lab import Lab

SANDBOX_IMAGE = "docker.io/railwright/pause:1"
"""Image of the container that holds a pod's namespaces; made by the lab itself."""

CLUSTER_DOMAIN = "cluster.local"
"""DNS suffix of Services. Source: Kubernetes' own default."""

CONTROL_PLANE_CLIENTS = ("kube-controller-manager", "kube-scheduler", "kwok", "fleet")
"""Clients of the API server in every lab; each gets a kubeconfig of its own."""

NODE_CLIENTS = ("kube-proxy", "coredns")
"""Clients in a lab that has real hosts, beside the kubelet of each."""

CLIENT_QPS, CLIENT_BURST = 300, 600
"""Requests per second that a control loop may send, and at once: the default of 20 to 50 makes 1,000 hosts take
minutes."""


def files(lab: Lab, secret: str, hugetlb: bool) -> dict[str, str]:
    """All files below the lab's ``config`` folder.

    Args:
        secret: key that encrypts Secrets in etcd, 32 bytes in base64.
        hugetlb: whether the machine offers the hugetlb controller.
    """
    made = {"encryption.yaml": encryption(secret), "kube-scheduler.yaml": _yaml(scheduler(lab))}
    if not lab.simulated:
        made |= {
            "kube-proxy.yaml": _yaml(kube_proxy(lab)),
            "Corefile": corefile(lab),
            "resolv.conf": f"nameserver {lab.network.node_ip}\n",
        }
    for host in lab.hosts:
        made |= {
            f"{host.part('containerd')}.toml": containerd(lab, host, hugetlb=hugetlb),
            f"{host.part('cni')}/10-railwright.conflist": cni(lab, host),
            f"{host.part('kubelet')}.yaml": _yaml(kubelet(lab, host)),
        }
    return made


def clients(lab: Lab) -> tuple[str, ...]:
    """Clients of the API server, each of which gets a kubeconfig below the ``config`` folder."""
    real = () if lab.simulated else NODE_CLIENTS
    return CONTROL_PLANE_CLIENTS + tuple(host.part("kubelet") for host in lab.hosts) + real


def kubeconfig(lab: Lab, identity: str) -> str:
    """A client's way to the API server, with its key inside."""
    return _yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [
                {
                    "name": "lab",
                    "cluster": {
                        "server": lab.network.api_url,
                        "certificate-authority-data": _data(lab.pki / "ca.crt"),
                    },
                }
            ],
            "users": [
                {
                    "name": identity,
                    "user": {
                        "client-certificate-data": _data(lab.pki / f"{identity}.crt"),
                        "client-key-data": _data(lab.pki / f"{identity}.key"),
                    },
                }
            ],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": identity}}],
        }
    )


def encryption(secret: str) -> str:
    """How the API server keeps Secrets in etcd."""
    return _yaml(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [
                {
                    "resources": ["secrets"],
                    "providers": [{"secretbox": {"keys": [{"name": "lab", "secret": secret}]}}, {"identity": {}}],
                }
            ],
        }
    )


def scheduler(lab: Lab) -> dict[str, Any]:
    """A scheduler that keeps up with 1,000 hosts, and looks at all of them: by default it ranks 420 for a pod, so that
    small replicas end up on more hosts than planned."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": f"{lab.config}/kube-scheduler.kubeconfig",
            "qps": CLIENT_QPS,
            "burst": CLIENT_BURST,
        },
        # For there is one.
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        "enableProfiling": False,
    }


def containerd(lab: Lab, host: Host, *, hugetlb: bool) -> str:
    """Container runtime: state dies with the lab, images stay."""
    cri = "io.containerd.cri.v1"
    # The opt plugin would make /opt/containerd on the machine; nri and the rest have no user here.
    unused = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing"]
    return f"""\
version = 3
root = "{lab.state}/{host.part("containerd")}"
state = "/run/{host.part("containerd")}"
disabled_plugins = {json.dumps(unused)}

[grpc]
  address = "{host.containerd_socket}"

[metrics]
  address = "{lab.network.address_of(host)}:{lab.network.ports.containerd_metrics}"

[plugins."{cri}.images"]
  snapshotter = "overlayfs"
  [plugins."{cri}.images".pinned_images]
    sandbox = "{SANDBOX_IMAGE}"

[plugins."{cri}.runtime"]
  restrict_oom_score_adj = true
  disable_hugetlb_controller = {json.dumps(not hugetlb)}
  [plugins."{cri}.runtime".cni]
    bin_dirs = ["{lab.tools}"]
    conf_dir = "{lab.config}/{host.part("cni")}"
  [plugins."{cri}.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."{cri}.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."{cri}.runtime".containerd.runtimes.runc.options]
        BinaryName = "{lab.tool("runc")}"
        SystemdCgroup = false
"""


def cni(lab: Lab, host: Host) -> str:
    """Pod network: a routed pair per pod, so that Services work without the kernel's bridge filter."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": lab.network.pods_of(host)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": "/run/cni/ipam",
    }
    plugins = [
        {"type": "ptp", "ipMasq": False, "ipam": ipam},
        {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "nftables"},
    ]
    return json.dumps({"cniVersion": "1.0.0", "name": host.part("railwright"), "plugins": plugins}, indent=2) + "\n"


def kubelet(lab: Lab, host: Host) -> dict[str, Any]:
    """The node agent; everything it would write outside the lab's folders is pointed into them."""
    name, address, ports = host.part("kubelet"), lab.network.address_of(host), lab.network.ports
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "port": ports.kubelet,
        "healthzBindAddress": address,
        "healthzPort": ports.kubelet_health,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(lab.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(lab.pki / f"{name}.crt"),
        "tlsPrivateKeyFile": str(lab.pki / f"{name}.key"),
        "tlsMinVersion": "VersionTLS12",
        "clusterDNS": [lab.network.node_ip],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": str(lab.config / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{host.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{lab.name}/{host.name}",
        # Each removes the logs of pods that it does not know.
        "podLogsDir": f"/var/log/{host.name}/pods",
        "failCgroupV1": False,
        "systemReserved": {"cpu": "200m", "memory": "2Gi"},
        "protectKernelDefaults": True,
        "oomScoreAdj": 0,
        "failSwapOn": False,
        "seccompDefault": True,
        "podPidsLimit": 4096,
        "volumePluginDir": str(lab.state / name / "volume-plugins"),
        # There is no registry to fetch an image from again: collect none, and give up only on a full disk.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
        "logging": {"verbosity": 1},
    }


def kube_proxy(lab: Lab) -> dict[str, Any]:
    """Services by nftables, IPv4 only; it changes no kernel setting outside its namespace."""
    node, ports = lab.network.node_ip, lab.network.ports
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "bindAddress": node,
        "hostnameOverride": FIRST.name,
        "clientConnection": {"kubeconfig": str(lab.config / "kube-proxy.kubeconfig")},
        "clusterCIDR": lab.network.pods,
        "detectLocalMode": "ClusterCIDR",
        "nodePortAddresses": [f"{lab.network.address_of(host)}/32" for host in lab.hosts],
        "healthzBindAddress": f"{node}:{ports.kube_proxy_health}",
        "metricsBindAddress": f"{node}:{ports.kube_proxy_metrics}",
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,
    }


def corefile(lab: Lab) -> str:
    """Names of Services and pods; any other name is refused at once, for there is no way out."""
    return f"""\
.:53 {{
    errors
    health {lab.network.node_ip}:{lab.network.ports.coredns_health}
    prometheus {lab.network.node_ip}:{lab.network.ports.coredns_metrics}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {lab.config}/coredns.kubeconfig lab
        pods insecure
        ttl 5
    }}
    cache 5
}}
"""


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _yaml(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False)
