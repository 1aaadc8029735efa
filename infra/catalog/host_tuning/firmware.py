"""Firmware of NICs: parameters that hold after a reset, now and at the next boot; part of the settings of RDMA."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import GPU_BOARDS, INFINIBAND, RDMA_METAL, ROCE_METAL
from infra.catalog.host_tuning.parsers import rails, text
from infra.catalog.host_tuning.setting import Case, Scope, Setting, command, files

_README = "nic-configuration-operator README"
_GUEST = Scope(machine="virtual")
_CARDS = Scope(boards=GPU_BOARDS, fabrics=("roce", "infiniband"))
"""Hosts whose rails are cards with firmware; RDMA that the kernel makes over any NIC has none."""

FIRMWARE = (
    Setting(
        id="rdma.link_type", what="Protocol of the NIC's port (LINK_TYPE_P1: 1 InfiniBand, 2 Ethernet)", value=2,
        cases=(Case(INFINIBAND, 1),), why="the port speaks to no switch", readings=(readings.FIRMWARE,),
        severity="page",
        parse=rails.config, argument="LINK_TYPE_P1", per_rail=True, scope=RDMA_METAL, reboot=True,
        fix="play role rdma on a drained host, then reboot", source=_README,
    ),
    Setting(
        id="rdma.ats", variable="rdma_ats", choices=(0, 1), what="ATS_ENABLED of the NIC's firmware; guests need 1",
        why="on metal copies between GPU and NIC are slow; in guests they are refused", value=0,
        cases=(Case(_GUEST, 1),), readings=(readings.FIRMWARE,), parse=rails.config, argument="ATS_ENABLED",
        per_rail=True, scope=_CARDS, reboot=True,
        source="nic-configuration-operator gpuDirectOptimized; NCCL user guide",
    ),
    Setting(
        id="rdma.sriov", variable="rdma_sriov", choices=(0, 1), what="SRIOV_EN of the NIC's firmware", value=0,
        why="the operators' plan of virtual functions does not fit", readings=(readings.FIRMWARE,), reboot=True,
        parse=rails.config, argument="SRIOV_EN", per_rail=True, scope=RDMA_METAL, source=_README,
    ),
    Setting(
        id="rdma.virtual_functions", what="Virtual functions that are made", value=0, compare="at_most",
        cases=(), why="a pod gets a function where it wants the device", parse=text.words, per_rail=True,
        readings=(files("/sys/class/net/{interface}/device/sriov_numvfs", optional=True),), scope=RDMA_METAL,
        unit="functions", fix="write 0 to sriov_numvfs, or let the SR-IOV operator own them and set rdma_sriov: 1",
        source="sriov-network-operator; nic-configuration-operator README", severity="note",
    ),
    Setting(
        id="rdma.write_ordering", variable="rdma_write_ordering", choices=(0, 1), reboot=True,
        what="PCI_WR_ORDERING of the NIC's firmware: 0 by memory key, 1 always relaxed; the same in the whole pool",
        why="one host that differs slows all", value=0, readings=(readings.FIRMWARE,), parse=rails.config,
        argument="PCI_WR_ORDERING", per_rail=True, scope=RDMA_METAL,
        source="NCCL user guide, env: NCCL_IB_PCI_RELAXED_ORDERING",
    ),
    Setting(
        id="rdma.firmware", variable="rdma_firmware", compare="has", per_rail=True, scope=RDMA_METAL, reboot=True,
        what="Other parameters of the NIC's firmware, as NAME=number", value=(), parse=rails.config_words,
        why="Spectrum-X, planes and hidden parameters need more than the rest of these settings",
        readings=(readings.FIRMWARE,),
        source="nic-configuration-operator: ADVANCED_PCI_SETTINGS, MAX_ACC_OUT_READ, CNP_DSCP_P1, "
               "ROCE_CC_PRIO_MASK_P1, spectrum-x RA2.1 (ROCE_ADAPTIVE_ROUTING_EN, USER_PROGRAMMABLE_CC)",
    ),
    Setting(
        id="rdma.rtt_congestion_control", what="Congestion control by round-trip time (PPCC)", value="0x00000000",
        why="it works against ECN on fabrics that are set up for that", per_rail=True, scope=ROCE_METAL,
        readings=(command("mlxreg", "-d", "{pci}", "--reg_name", "PPCC", "--get", "--indexes",
                          "local_port=1,pnat=0,lp_msb=0,algo_slot=0,algo_param_index=0", optional=True),),
        parse=text.pattern, argument=r"^value\s*\|\s*(?P<value>0x\w+)", severity="note",
        fix="mlxreg --set cmd_type=2 on PPCC; a Spectrum-X fabric wants it on",
        source="oci-hpc check_gpu_setup.py: a rule of its fabrics",
    ),
)  # fmt: skip
"""Each read as it is and as it will be: one that differs waits for a reboot."""
