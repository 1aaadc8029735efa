"""Kubelet: how CPUs, memory and devices are handed out, and what device plugins have registered."""

from __future__ import annotations

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import CLUSTER, GPU_BOARDS, GPUS_CLUSTER
from infra.catalog.host_tuning.parsers import host, text, units
from infra.catalog.host_tuning.setting import Scope, Setting, Variable, command, files

WHAT = "Kubelet of a bare-metal host, joined by kubeadm, with CPUs, memory and devices aligned."
"""What the role does."""

VARIABLES = (
    Variable("kubelet_version",
             "Version of kubelet and kubeadm; empty takes what the host has, else what its sources offer.", "",
             "Kubernetes version skew policy"),
    Variable("kubelet_reserved_memory", "Memory kept from pods with policy Static, by NUMA node: numaNode, limits.", [],
             "Kubernetes, memory manager", elements="dict"),
    Variable("kubelet_node_ip", "Address that the node registers with; empty lets kubelet choose.", "",
             "kubelet --node-ip"),
    Variable("kubelet_labels", "Labels that the node registers with.", {}, "kubelet --node-labels"),
    Variable("kubelet_taints", "Taints that the node registers with: key, value, effect.", [],
             "kubeadm v1beta4 nodeRegistration.taints", elements="dict"),
    Variable("kubelet_endpoint", "host:port of the API server to join; empty joins nothing.", "",
             "kubeadm v1beta4 JoinConfiguration"),
    Variable("kubelet_token", "Bootstrap token; needed only to join.", "", "kubeadm token create", secret=True),
    Variable("kubelet_ca_hashes",
             "Hashes of the cluster's CA certificate, sha256:…; a join without one is refused.", [],
             "kubeadm v1beta4 discovery.bootstrapToken.caCertHashes", elements="str"),
    Variable("kubelet_drained",
             "Whether the play has drained the host; state files of a joined one are not removed otherwise.", False,
             "talos#7504; kubernetes#110478"),
)  # fmt: skip

_REGISTERED = files("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint")
_RDMA_CLUSTER = Scope(boards=GPU_BOARDS, fabrics=("roce", "infiniband"), kubernetes=True)

SETTINGS = (
    Setting(
        id="kubelet.service", what="Kubelet runs", value="active", why="the host is not in its cluster",
        severity="page",
        readings=(command("systemctl", "show", "kubelet", "--property=LoadState,ActiveState"),), parse=units.service,
        scope=CLUSTER, fix="see journalctl -u kubelet; after a change of policy its state files are in the way",
        source="talos#7504; kubernetes#110478: configured policy differs from state checkpoint policy",
    ),
    Setting(
        id="kubelet.cpu_policy", variable="kubelet_cpu_policy", choices=("none", "static"), value="static",
        what="CPU manager policy", why="threads of an engine move to CPUs far from its GPU",
        readings=(readings.KUBELET, files("/var/lib/kubelet/cpu_manager_state")), parse=host.policy,
        argument="cpuManagerPolicy", scope=GPUS_CLUSTER, source="kubernetes#131253",
    ),
    Setting(
        id="kubelet.reserved_cpus", variable="kubelet_reserved_cpus", what="CPUs that pods never get, as a list",
        why="kubelet and containerd wait for a CPU", value="0-1", readings=(readings.KUBELET,), parse=text.said,
        argument="^reservedSystemCPUs: *[\"']?(?P<value>[\\d,-]+)", scope=GPUS_CLUSTER,
        source="Kubernetes, reserve compute resources",
    ),
    Setting(
        id="kubelet.topology_policy", variable="kubelet_topology_policy", value="restricted",
        choices=("none", "best-effort", "restricted", "single-numa-node"), scope=GPUS_CLUSTER,
        what="Topology manager policy; eight GPUs span two nodes, which single-numa-node rejects",
        why="GPU and NIC of a pod are on different sockets, or pods with eight GPUs are rejected",
        readings=(readings.KUBELET,), parse=text.said, argument=r"^topologyManagerPolicy: *(?P<value>\S+)",
        source="kubernetes#122295",
    ),
    Setting(
        id="kubelet.memory_policy", variable="kubelet_memory_policy", choices=("None", "Static"), value="None",
        what="Memory manager policy", why="pinned memory of a pod is far from its GPU, or pods are rejected",
        readings=(files("/var/lib/kubelet/memory_manager_state"),), parse=host.policy, argument="memoryManagerPolicy",
        scope=GPUS_CLUSTER, source="kubernetes#113130",
    ),
    Setting(
        id="kubelet.cgroup_driver", what="Who makes cgroups; containerd must say the same", value="systemd",
        why="pods are ended under pressure on memory that they do not use", readings=(readings.KUBELET,),
        parse=text.said, argument=r"^cgroupDriver: *(?P<value>\S+)", scope=CLUSTER, fix="play role kubelet",
        source="Kubernetes, container runtimes",
    ),
    Setting(
        id="kubelet.gpus", what="GPUs that the device plugin has registered", value=8, unit="GPUs", severity="page",
        why="pods wait for GPUs that are there", readings=(_REGISTERED,), parse=host.devices, argument="nvidia.com/gpu",
        scope=GPUS_CLUSTER, fix="see the log of the GPU device plugin on the host", source="gpu-operator#441",
    ),
    Setting(
        id="kubelet.rdma_devices", what="RDMA devices that the device plugin has registered", compare="at_least",
        value=BOARDS[GPU_BOARDS[0]].rails, unit="devices", severity="page", readings=(_REGISTERED,),
        why="pods get no rails: the plugin started before OFED, or selects NICs of the switches", parse=host.devices,
        argument="rdma/hca", scope=_RDMA_CLUSTER,
        fix="restart the RDMA device plugin; see its selectors (vendors, deviceIDs, ifNames)",
        source="k8s-rdma-shared-dev-plugin README, #117; network-operator#31",
    ),
)  # fmt: skip
"""Policies need drained hosts: their state files are removed."""
