"""Rails, RDMA devices and the firmware of NICs."""

from __future__ import annotations

import json

from tests.unit.catalog.host_tuning.samples.form import ACTIVE, INACTIVE, Said, Sample, one, policy

DEVICE = {"/sys/class/net/ens1/device/infiniband/mlx5_0/node_guid": "a088:c203:00ab:cdef\n"}
LINKS = json.dumps([{"ifname": "mlx5_0", "port": 1, "state": "ACTIVE", "netdev": "ens1"}])
PORT = {
    "fw_ver": "28.43.1014", "board_id": "MT_0000000838", "state": "PORT_ACTIVE (4)", "active_mtu": "4096 (5)",
    "sm_lid": "1", "port_lid": "7", "link_layer": "Ethernet", "phys_state": "LINK_UP (5)",
}  # fmt: skip


def devinfo(gid: str = "::ffff:10.1.0.5, RoCE v2", **wrong: str) -> str:
    """What ``ibv_devinfo -v`` says of one device beside another, which is as it should be."""

    def block(name: str, fields: dict[str, str], gid: str) -> str:
        rows = "".join(f"\t\t\t{key}:\t\t{value}\n" for key, value in fields.items())
        return f"hca_id:\t{name}\n\ttransport:\t\tInfiniBand (0)\n{rows}\t\t\tGID[  3]:\t\t{gid}\n\n"

    return block("mlx5_0", {**PORT, **wrong}, gid) + block("mlx5_1", PORT, "::ffff:10.2.0.5, RoCE v2")


def _port(field: str, wrong: str, **right: str) -> Sample:
    return (LINKS, devinfo(**right), DEVICE), (LINKS, devinfo(**{field: wrong}), DEVICE)


def mlxconfig(**changed: str) -> str:
    """Three columns of a parameter: default, current, and at the next boot, as ``current next`` says them."""
    values = {"LINK_TYPE_P1": "ETH(2) ETH(2)", "ATS_ENABLED": "False(0) False(0)", "SRIOV_EN": "False(0) False(0)",
              "PCI_WR_ORDERING": "per_mkey(0) per_mkey(0)", "ADVANCED_PCI_SETTINGS": "True(1) True(1)",
              **changed}  # fmt: skip
    rows = "".join(f"{'*' if name in changed else ' '}       {name:40}x {both}\n" for name, both in values.items())
    return (
        "Device #1:\n----------\n\nConfigurations:      Default   Current   Next Boot\n"
        + rows
        + "The '*' shows parameters\n"
    )


def _config(name: str, wrong: str) -> Sample:
    return one(mlxconfig(), mlxconfig(**{name: wrong}))


def qos(trust: str = "dscp", enabled: str = "0   0   0   1   0   0   0   0") -> str:
    """What ``mlnx_qos -i`` says."""
    return (
        f"DCBX mode: OS controlled\nPriority trust state: {trust}\nPFC configuration:\n"
        f"\tpriority    0   1   2   3   4   5   6   7\n"
        f"\tenabled     {enabled}   \n\tbuffer      0   0   0   1   0   0   0   0   \n"
    )


def _rules(source: str) -> str:
    return json.dumps(
        [{"priority": 0, "src": "all", "table": "local"}, {"priority": 100, "src": source, "table": "100"}]
    )


_ROUTES = json.dumps([{"dst": "default", "dev": "eno1"}, {"dst": "10.1.0.0/24", "dev": "ens1", "table": "100"}])
_ASTRAY = json.dumps([{"dst": "10.1.0.0/24", "dev": "ens2", "table": "100"}])


def _addresses(local: str) -> str:
    return json.dumps(
        [{"ifname": "lo", "addr_info": []}, {"ifname": "ens1", "addr_info": [{"local": local, "prefixlen": 24}]}]
    )


TWINS = {f"/sys/class/net/ens{n}/device/infiniband/mlx5_{n}/sys_image_guid": f"a088:c203:00ab:000{n // 2}\n"
         for n in range(3)}  # fmt: skip
"""Two ports of one NIC, and one of another."""

_NEAR: tuple[Said, ...] = ("# rule\n", None, None)

BY_ID: dict[str, Sample] = {
    "rdma.interface": one("DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:18:00.0\n", "PCI_SLOT_NAME=0000:2a:00.0\n"),
    "rdma.address": one(_addresses("10.1.0.5"), _addresses("10.1.0.6")),
    "rdma.routing": ((_rules("10.1.0.5"), _ROUTES), (_rules("10.1.0.5"), _ASTRAY)),
    "rdma.mtu": one("4220\n", "1500\n"),
    "rdma.active_mtu": _port("active_mtu", "1024 (3)"),
    "rdma.link_layer": _port("link_layer", "InfiniBand"),
    "rdma.port_state": _port("state", "PORT_DOWN (1)"),
    "rdma.physical_state": _port("phys_state", "POLLING (2)"),
    "rdma.rate": one("400 Gb/sec (4X NDR)\n", "200 Gb/sec (4X HDR)\n"),
    "rdma.gid": ((LINKS, devinfo(), DEVICE), (LINKS, devinfo(gid="::ffff:10.1.0.5, RoCE v1"), DEVICE)),
    "rdma.roce_mode": one("RoCE v2\n", "IB/RoCE v1\n"),
    "rdma.trust": one(qos(), qos(trust="pcp")),
    "rdma.priority": one(qos(), qos(enabled="1   1   1   1   1   1   1   1")),
    "rdma.tos": one("Global tclass=106\n", "Global tclass=0\n"),
    "rdma.ecn": one("1\n", "0\n"),
    "rdma.ecn_sender": one("1\n", "0\n"),
    "rdma.cnp_dscp": one({f"/sys/class/net/ens{n}/ecn/roce_np/cnp_dscp": "48\n" for n in (1, 2)},
                         {f"/sys/class/net/ens{n}/ecn/roce_np/cnp_dscp": f"{44 + 2 * n}\n" for n in (1, 2)}),
    "rdma.lid": _port("port_lid", "0", link_layer="InfiniBand"),
    "rdma.subnet_manager_lid": _port("sm_lid", "0", link_layer="InfiniBand"),
    "rdma.firmware_version": one(devinfo(), devinfo(fw_ver="28.42.1000")),
    "rdma.naming": (_NEAR, (None, None, None)),
    "rdma.openibd": one(ACTIVE, INACTIVE),
    "rdma.pinned": (("libibverbs1 50.0 ii \n", policy(libibverbs1="50.0 50.0")),
                    ("libibverbs1 50.0 ii \n", policy(libibverbs1="50.0 56.0"))),
    "rdma.one_owner": ((None, None), ("", None)),
    "rdma.nccl_devices": one("NCCL_IB_HCA==mlx5_0,mlx5_1\n", "NCCL_IB_HCA=mlx5_1\n"),
    "rdma.nccl_class": one("NCCL_IB_TC=106\n", "NCCL_IB_TC=41\n"),
    "rdma.nccl_index": one("NCCL_IB_TC=106\n", "NCCL_IB_GID_INDEX=3\n"),
    "rdma.nccl_rails": (("NCCL_CROSS_NIC=0\nNCCL_IB_HCA==mlx5_0:1:0,mlx5_1:1:1\n", TWINS),
                        ("NCCL_CROSS_NIC=0\nNCCL_IB_HCA==mlx5_0,mlx5_1\n", TWINS)),
    "rdma.nccl_features": one("NCCL_NVLS_ENABLE=2\n", "NCCL_NVLS_ENABLE=0\n"),
    "rdma.link_type": _config("LINK_TYPE_P1", "IB(1) ETH(2)"),
    "rdma.ats": _config("ATS_ENABLED", "False(0) True(1)"),
    "rdma.sriov": _config("SRIOV_EN", "True(1) True(1)"),
    "rdma.virtual_functions": one("0\n", "8\n"),
    "rdma.write_ordering": _config("PCI_WR_ORDERING", "force_relax(1) force_relax(1)"),
    "rdma.firmware": _config("ADVANCED_PCI_SETTINGS", "False(0) True(1)"),
    "rdma.rtt_congestion_control": one("Field Name | Data\n=====\nvalue      | 0x00000000\n",
        "value      | 0x00000001\n"),
}  # fmt: skip
"""Setting → what a host says of its rail ens1."""
