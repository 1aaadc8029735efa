"""Fabrics of clouds that bring their own plugin: EFA, gIB and TCPXO of Google, CoreWeave's."""

from __future__ import annotations

from infra.catalog.fabrics.access import Access, HostFolder

EFA = {"FI_PROVIDER": "efa", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
"""The plugin itself is in the image and found by its name. Source: AWS, node-efa walkthrough; awsome-distributed-ai,
NCCL tests on EKS."""

GIB = {
    "NCCL_NET": "gIB",
    "NCCL_SOCKET_IFNAME": "eth0",
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
}
"""Source: container-engine-accelerators gpudirect-rdma/nccl-test.yaml; AICR runtime: NCCL_NET says that nothing else
will do. The rest is for the shell that sources /usr/local/gib/scripts/set_nccl_env.sh, and by the plugin's version."""

TCPXO = {
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
    "NCCL_FASTRAK_CTRL_DEV": "eth0",
    "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
    "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
    "NCCL_FASTRAK_USE_SNAP": "1",
    "NCCL_FASTRAK_USE_LLCM": "1",
    "NCCL_FASTRAK_NUM_FLOWS": "2",
    "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": "0",
    "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": "600000",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_CROSS_NIC": "0",
    "NCCL_ALGO": "Ring,Tree",
    "NCCL_PROTO": "Simple,LL128",
    "NCCL_MIN_NCHANNELS": "4",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_P2P_PCI_CHUNKSIZE": "524288",
    "NCCL_P2P_NVL_CHUNKSIZE": "1048576",
    "NCCL_BUFFSIZE": "8388608",
    "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
    "NCCL_TUNER_CONFIG_PATH": "/usr/local/nvidia/lib64/a3plus_tuner_config_ll128.textproto",
    "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": "/usr/local/nvidia/lib64/a3plus_guest_config_ll128.textproto",
}
"""Source: GKE, Maximize GPU network bandwidth, NCCL environment variables; container-engine-accelerators
gpudirect-tcpxo/nccl-test-latest.yaml. The plugin ends when its checker finds other values."""

COREWEAVE = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IB_HCA": "ibp",
    "UCX_TLS": "tcp",
    "UCX_NET_DEVICES": "eth0",
}
"""Source: CoreWeave docs, Use GPUDirect RDMA with InfiniBand."""

_LIBRARIES = HostFolder("nvidia", "/home/kubernetes/bin/nvidia", "/usr/local/nvidia")
"""Driver and NCCL plugin, where Google's installers put them."""

ACCESSES = (
    Access("eks", "efa", "aws-ofi-nccl", "cloud", "EFA plugin", "devices", "vpc.amazonaws.com/efa", env=EFA,
           huge_pages_mib=5_120, parts=("efa-plugin",),
           source="aws-efa-k8s-device-plugin 0.5; AWS, node-efa walkthrough: hugepages-2Mi 5120Mi"),
    Access("gke", "roce", "gib", "cloud", "gIB", "networks", "", env=GIB, mtus=(8_896, 8_896), mtu=8_896,
           folders=(_LIBRARIES, HostFolder("gib", "/home/kubernetes/bin/gib", "/usr/local/gib")), parts=("gib",),
           source="container-engine-accelerators gpudirect-rdma, 2026-06; MTU: Google Cloud, RDMA network profiles"),
    Access("gke", "roce", "tcpxo", "cloud", "TCPXO", "networks", "", env=TCPXO, capabilities=(), mtus=(8_244, 8_244),
           mtu=8_244, folders=(HostFolder("nvidia", "/home/kubernetes/bin/nvidia/lib64", "/usr/local/nvidia/lib64"),
                               HostFolder("apertures", "/dev/aperture_devices", "/dev/aperture_devices")),
           parts=("tcpxo", "tcpxo-host", "tcpxo-daemon", "device-injector"), daemon="tcpxo-daemon",
           source="container-engine-accelerators gpudirect-tcpxo and nri_device_injector, 2026; MTU: cluster-toolkit"),
    Access("coreweave", "infiniband", "", "cloud", "cloud", "flag", "rdma/ib", env=COREWEAVE,
           source="CoreWeave docs, Use GPUDirect RDMA with InfiniBand: a flag, not a count"),
    Access("coreweave", "roce", "", "cloud", "cloud", "flag", "rdma/ib", env={"NCCL_SOCKET_IFNAME": "eth0"},
           source="CoreWeave docs, How do I configure InfiniBand and RDMA: rdma/ib is for RoCE too; the HCA's name "
                  "there was not read, NCCL finds it"),
)  # fmt: skip
"""One for each machine type's transport."""
