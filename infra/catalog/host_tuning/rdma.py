"""RDMA: rails with addresses, routes and neighbours, quality of service, ports, and the stack below."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.firmware import FIRMWARE
from infra.catalog.host_tuning.kinds import GPUS, INFINIBAND, NVLINK5, RDMA, RDMA_METAL, ROCE, ROCE_METAL
from infra.catalog.host_tuning.parsers import rails, text, units
from infra.catalog.host_tuning.setting import Case, Scope, Setting, Variable, command, files
from infra.catalog.host_tuning.sysctls import sysctl

WHAT = "Rails that carry RDMA, with addresses, quality of service and firmware as the fabric wants them."
"""What the role does."""

VARIABLES = (
    Variable("rdma_fabric", "Fabric of the pool.", "none", "inventory: fabric of the pool",
             choices=("roce", "infiniband", "none")),
    Variable("rdma_device", "NICs of the mlx5 driver, or RDMA made by the kernel over any NIC (rxe).", "mlx5",
             "rdma-core Documentation/rxe.md", choices=("mlx5", "rxe")),
    Variable("rdma_packages", "Packages of the RDMA stack, with =version where one is pinned; all are held.",
             ["rdma-core", "ibverbs-utils", "perftest", "infiniband-diags"],
             "Debian; doca-ofed where NVIDIA's stack is wanted", elements="str"),
    Variable("rdma_source", "apt source of the stack, one line as in sources.list(5); empty where the host has it.", "",
             "DOCA installation guide"),
    Variable("rdma_origin", "Release origin that alone may provide the stack; empty allows any.", "",
             "azhpc-images: mixed OFED"),
    Variable("rdma_rails", "Rails in order: interface, pci (address; empty where the name is stable), address (with "
             "prefix; empty on InfiniBand), gateway (or empty).", [], "inventory: rails of the host", elements="dict"),
    Variable("rdma_first_table", "Routing table of the first rail; the others follow.", 100,
             "nccl#1269, #2013: replies leave by the rail they came by"),
    Variable("rdma_subnet_manager", "Whether this host manages the InfiniBand subnet.", "none", "opensm(8)",
             choices=("none", "opensm")),
    Variable("rdma_partitions", "InfiniBand partitions: name, pkey, members (port GUIDs or ALL).", [],
             "opensm partition-config", elements="dict"),
    Variable("rdma_drained", "Whether the play has drained the host; rails in use are not changed otherwise.", False,
             "the drain play says so"),
)  # fmt: skip

_OCI = "oci-hpc roles/rdma-interface"
_ECN = "rcs-node-config 05_configure_roce.sh"
_CABLE = "see the port on the switch, then the cable; ibdiagnet or mlxlink says which end"
_NAMING = r"rdma_rename %k (?P<value>NAME_\w+)"

SETTINGS = (
    Setting(
        id="rdma.interface", what="PCI address of the rail's interface", value="{pci}", per_rail=True, scope=RDMA_METAL,
        why="names of interfaces moved: all rails are on the wrong switches", severity="page",
        readings=(files("/sys/class/net/{interface}/device/uevent"),), parse=text.pattern,
        argument="^PCI_SLOT_NAME=(?P<value>.*)$", fix="play role rdma: it names interfaces by PCI address",
        source="nccl#1277; nic-configuration-operator README: names, serials and mlx5 numbers are no keys",
    ),
    Setting(
        id="rdma.address", what="Address of the rail", value=("{address}",), compare="has", per_rail=True,
        why="the rail is not reached", readings=(command("ip", "-j", "address", "show"),), parse=rails.addresses,
        argument="{interface}", scope=ROCE, severity="page", fix="play role rdma",
        source="inventory: rails of the host",
    ),
    Setting(
        id="rdma.routing", what="Way of replies from the rail's address", value="own rail", per_rail=True, scope=ROCE,
        why="replies leave by another rail, and NCCL ends with errno 110", severity="page", fix="play role rdma",
        readings=(command("ip", "-j", "rule", "show"), command("ip", "-j", "route", "show", "table", "all")),
        parse=rails.routing, argument="{interface} {address}", source="nccl#1269, #2013",
    ),
    Setting(
        id="rdma.mtu", variable="rdma_mtu", what="MTU of each rail's interface; 4096 of RoCE and its headers fit",
        why="the MTU of RDMA falls to 1024 or 2048, or peers differ and hang", value=4_200, compare="at_least",
        cases=(Case(INFINIBAND, 4_092),), readings=(files("/sys/class/net/{interface}/mtu"),), parse=text.words,
        per_rail=True, unit="bytes", scope=RDMA,
        source="oci-hpc-oke sriov-network.yaml 4220; NCCL PR#2135; IPoIB: 4092",
    ),
    Setting(
        id="rdma.active_mtu", variable="rdma_active_mtu", what="MTU that each RDMA port works with", value=4_096,
        why="peers that differ end with IBV_WC_LOC_LEN_ERR, or hang", choices=(1_024, 2_048, 4_096), per_rail=True,
        readings=readings.PORT, parse=rails.port, argument="{interface} active_mtu", unit="bytes", scope=RDMA,
        severity="page", source="nccl#1524, #709, #1957; NCCL PR#2135",
    ),
    sysctl("rdma", "net.ipv4.conf.{interface}.rp_filter", 2, "Reverse path filter of each rail",
           "1 drops what another rail carries", _OCI, also=("0",), choices=(0, 2), scope=ROCE, per_rail=True),
    sysctl("rdma", "net.ipv4.conf.{interface}.arp_ignore", 2, "Which ARP requests a rail answers",
           "all rails answer for all addresses: ping works, and RDMA goes to the wrong NIC", _OCI, scope=ROCE,
           choices=(0, 1, 2), per_rail=True),
    sysctl("rdma", "net.ipv4.conf.{interface}.arp_announce", 1, "Which address a rail's ARP requests name",
           "neighbours learn one rail's address at another's NIC", f"{_OCI}; oci-hpc-oke sriov-network.yaml: 2 in pods",
           scope=ROCE, choices=(0, 1, 2), also=("2",), per_rail=True),
    Setting(
        id="rdma.link_layer", what="What the port speaks", value="Ethernet", cases=(Case(INFINIBAND, "InfiniBand"),),
        why="the NIC is set up for the other fabric", per_rail=True, scope=RDMA, severity="page",
        readings=readings.PORT, parse=rails.port, argument="{interface} link_layer",
        fix="play role rdma: LINK_TYPE_P1 is in the NIC's firmware", source="nic-configuration-operator README",
    ),
    Setting(
        id="rdma.port_state", what="State of each rail's port", value="PORT_ACTIVE", per_rail=True, scope=RDMA,
        why="the rail is down, and with it every job that uses all", severity="page", readings=readings.PORT,
        parse=rails.port, argument="{interface} state", fix=_CABLE, source="NVSentinel InfiniBandStateCheck; gpud",
    ),
    Setting(
        id="rdma.physical_state", what="Whether each rail's port has a link", value="LINK_UP", per_rail=True,
        why="no light: cable, transceiver or switch port", severity="page", readings=readings.PORT, scope=RDMA,
        parse=rails.port, argument="{interface} phys_state", fix=_CABLE, source="NVSentinel InfiniBandStateCheck; gpud",
    ),
    Setting(
        id="rdma.rate", what="Speed of each rail's port", value=400, compare="at_least", unit="Gbit/s", per_rail=True,
        cases=(Case(Scope(boards=("hgx-b300",), fabrics=("infiniband",)), 800),),
        why="one slow rail slows all collectives", severity="page", fix=_CABLE, parse=text.pattern,
        readings=(files("/sys/class/net/{interface}/device/infiniband/*/ports/*/rate"),), argument=r"^(?P<value>\d+)",
        scope=RDMA_METAL, source="nccl#2035; OCI: a ConnectX-8 of 800 on Ethernet is two ports of 400",
    ),
    Setting(
        id="rdma.gid", what="Global ids of RoCE version 2 with an IPv4 address", value="RoCE v2", per_rail=True,
        compare="has", why="no route beyond the subnet, and NCCL finds no id", readings=readings.PORT, parse=rails.gids,
        argument="{interface}", scope=ROCE, severity="page", fix="play role rdma: an address makes the id",
        source="NCCL user guide, env: NCCL_IB_GID_INDEX; nccl#426; the index differs by port",
    ),
    Setting(
        id="rdma.roce_mode", what="RoCE version of connections by address (rdma_cm)", value="RoCE v2",
        why="version 1 does not leave the subnet", scope=ROCE, parse=text.words,
        readings=(files("/sys/kernel/config/rdma_cm/*/ports/*/default_roce_mode", optional=True),),
        fix="cma_roce_mode -d DEVICE -p 1 -m 2", source="mlnx-tools sbin/cma_roce_mode",
    ),
    Setting(
        id="rdma.trust", variable="rdma_trust", choices=("dscp", "pcp"), what="What sorts packets into priorities",
        why="routed traffic lands in the default class, which drops", value="dscp", readings=(readings.QOS,),
        parse=text.pattern, argument=r"^Priority trust state: (?P<value>\S+)", per_rail=True, scope=ROCE_METAL,
        source="nic-configuration-operator roceOptimized; mlnx_qos",
    ),
    Setting(
        id="rdma.priority", variable="rdma_priority", choices=tuple(range(8)), value=3,
        what="Priority of RDMA: the one with PFC and ECN; must be the switch's",
        why="without flow control packets are lost; with it everywhere all traffic stops together",
        readings=(readings.QOS,), parse=rails.lossless, per_rail=True, scope=ROCE_METAL, severity="page",
        source="nic-configuration-operator README",
    ),
    Setting(
        id="rdma.tos", variable="rdma_tos", what="Type of service of RDMA packets: DSCP 26 with ECT (26 * 4 + 2)",
        why="traffic is not marked, and PFC is not honoured", value=106, parse=text.pattern,
        readings=(files("/sys/class/net/{interface}/device/infiniband/*/tc/*/traffic_class"),),
        argument=r"(?P<value>\d+)\s*$", per_rail=True, scope=ROCE_METAL,
        source="mlnx-tools cma_roce_tos; rcs-node-config 05_configure_roce.sh",
    ),
    *(Setting(
        id=f"rdma.{name}", variable=variable, choices=(0, 1) if variable else (), value=1, per_rail=True,
        what=f"Whether congestion is told by ECN, {side}", why="the fabric is slowed by pauses instead",
        readings=(files(f"/sys/class/net/{{interface}}/ecn/{part}/enable/{{rdma_priority}}"),), parse=text.words,
        scope=ROCE_METAL, fix="" if variable else "play role rdma", source=_ECN,
    ) for name, variable, part, side in (
        ("ecn", "rdma_ecn", "roce_np", "by who receives (and by who sends)"),
        ("ecn_sender", "", "roce_rp", "and heeded by who sends"),
    )),
    Setting(
        id="rdma.cnp_dscp", what="Mark of congestion messages (CNP), the same on all NICs", value="", compare="agree",
        why="messages in a congested class arrive late; it must be the switch's class for them", scope=ROCE_METAL,
        readings=(files("/sys/class/net/*/ecn/roce_np/cnp_dscp"),), parse=text.words,
        fix="set it to the switch's class for CNP in rdma_firmware (CNP_DSCP_P1)",
        source="nic-configuration-operator README: 4 by default, 48 at many sites",
    ),
    Setting(
        id="rdma.lid", what="Local id of each port, which the subnet manager gives", value=1, compare="at_least",
        why="the fabric has no subnet manager", readings=readings.PORT, parse=rails.port, per_rail=True,
        argument="{interface} port_lid", scope=INFINIBAND, severity="page", fix="see opensm or UFM", source="ibstat(8)",
    ),
    Setting(
        id="rdma.subnet_manager_lid", what="Local id of the subnet manager that the port knows", value=1,
        compare="at_least", why="the port stays in INIT", readings=readings.PORT, parse=rails.port, per_rail=True,
        argument="{interface} sm_lid", scope=INFINIBAND, severity="page", fix="see opensm or UFM; sminfo says which",
        source="ibstat(8); infiniband-diags",
    ),
    Setting(
        id="rdma.firmware_version", what="Firmware of NICs of one model", value="one", readings=(readings.RDMA_PORTS,),
        why="rails of one host behave differently", parse=rails.firmware, scope=RDMA_METAL,
        fix="mstflint or the DOCA firmware updater, one version for each model",
        source="imbue-ai/cluster-health health_checks.py",
    ),
    Setting(
        id="rdma.naming", what="Rules that give RDMA devices names that stay", value="yes", parse=text.is_there,
        why="NCCL hangs when names differ between hosts", scope=RDMA_METAL, fix="install rdma-core",
        readings=(files("/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules", optional=True),
                  files("/lib/udev/rules.d/60-rdma-persistent-naming.rules", optional=True),
                  files("/etc/udev/rules.d/60-rdma-persistent-naming.rules", optional=True)),
        source="nccl#1277; rdma-core kernel-boot",
    ),
    Setting(
        id="rdma.openibd", what="Service of NVIDIA's RDMA stack, where it is installed", value="active",
        also=("not-found",), why="modules of two stacks are mixed", parse=units.service, scope=RDMA_METAL,
        readings=(command("systemctl", "show", "openibd", "--property=LoadState,ActiveState"),),
        fix="see journalctl -u openibd", source="azhpc-images; imbue-ai/cluster-health",
    ),
    Setting(
        id="rdma.pinned", what="What an upgrade of everything makes of the RDMA stack's packages", value="kept",
        why="the driver's peermem is built against the stack that was there", parse=units.upgrades,
        readings=(readings.PACKAGES, readings.CANDIDATES), scope=RDMA_METAL, fix="play role rdma",
        argument="(rdma-core|libibverbs|librdmacm|mlnx|ofed|doca|kernel-mft).*",
        source="azhpc-images; gpu-operator#2868; doca-driver-build#481",
    ),
    Setting(
        id="rdma.one_owner", what="A stack of the Network Operator beside the host's own", value="no",
        why="one unloads the modules of the other", parse=text.is_there, scope=RDMA_METAL,
        readings=(files("/run/mellanox/drivers/.driver-ready", optional=True),
                  files("/run/mellanox/drivers/etc/os-release", optional=True)),
        fix="take ofedDriver out of the NicClusterPolicy, or leave role rdma out",
        source="network-operator#31; gpu-operator#2868; network-operator docs, OFED container",
    ),
    Setting(
        id="rdma.nccl_devices", what="NICs that NCCL is told to use, exactly", value=0, severity="note",
        why="mlx5_1 without = is also mlx5_10 and more, and NICs of the switches are taken for rails",
        readings=(files("/etc/nccl.conf", optional=True),), parse=text.count, scope=Scope(boards=NVLINK5),
        argument=r"^NCCL_IB_HCA=(?!\^?=)\S", fix="write NCCL_IB_HCA==mlx5_0,… in /etc/nccl.conf, or drop the file",
        source="NCCL user guide, env: NCCL_IB_HCA; oci-hpc nccl-conf/templates/b300; DeepEP#590; InferenceX#2525",
    ),
    Setting(
        id="rdma.nccl_class", what="Traffic class that NCCL is told, as the NICs mark", value="{rdma_tos}",
        why="NCCL's own default is not marked, and PFC is not honoured", parse=text.pattern, severity="note",
        readings=(files("/etc/nccl.conf", optional=True),), argument=r"^NCCL_IB_TC=(?P<value>\d+)", scope=ROCE,
        fix="write NCCL_IB_TC with rdma_tos in /etc/nccl.conf, or drop the line",
        source="NCCL user guide, env: NCCL_IB_TC; oci-hpc nccl-conf/templates",
    ),
    Setting(
        id="rdma.nccl_index", what="Index of the global id that NCCL is told", value=0, severity="note",
        why="the index differs by port and by boot; NCCL 2.21 and newer finds it", parse=text.count, scope=ROCE,
        readings=(files("/etc/nccl.conf", optional=True),), argument=r"^NCCL_IB_GID_INDEX=\d",
        fix="drop NCCL_IB_GID_INDEX from /etc/nccl.conf", source="NCCL user guide, env; nccl#426",
    ),
    Setting(
        id="rdma.nccl_rails", what="Ports of one NIC that NCCL, told to stay on a rail, cannot tell apart", value=0,
        why="both ends of a connection are on different rails, which do not reach each other", parse=rails.twins,
        readings=(files("/etc/nccl.conf", optional=True),
                  files("/sys/class/net/*/device/infiniband/*/sys_image_guid", optional=True)),
        scope=RDMA_METAL, unit="ports", severity="note", source="nccl#2097; NCCL user guide, env: NCCL_IB_HCA",
        fix="write each port's rail in NCCL_IB_HCA of /etc/nccl.conf (=mlx5_0:1:0,mlx5_1:1:1), or drop NCCL_CROSS_NIC",
    ),
    Setting(
        id="rdma.nccl_features", what="Multicast over NVLink, which NCCL is not told to leave", value=0,
        severity="note", why="all-reduce of one host loses a quarter of its bandwidth", parse=text.count,
        readings=(files("/etc/nccl.conf", optional=True),), argument=r"^NCCL_(NVLS|MNNVL)_ENABLE=0", scope=GPUS,
        fix="drop the line from /etc/nccl.conf", source="NCCL user guide, env; stas00/ml-engineering: 482 against 367",
    ),
    *FIRMWARE,
)  # fmt: skip
"""From the interface to the stack, then the firmware of NICs."""
