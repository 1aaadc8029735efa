"""NVIDIA's driver with all that must match it: fabric manager, subnet manager, module options, peermem."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.gpus import GPU_STATE
from infra.catalog.host_tuning.kinds import ARM, GPU_BOARDS, GPUS, NVLINK5, NVSWITCH
from infra.catalog.host_tuning.parsers import boot, nvidia, text, units
from infra.catalog.host_tuning.setting import Case, Scope, Setting, Variable, command, files

WHAT = "One driver with all that must match it, from one package source, and kept so."
"""What the role does."""

VARIABLES = (
    Variable("nvidia_driver_packages",
             "Packages of the driver itself, each at nvidia_driver_version; open kernel modules.", ["nvidia-open"],
             "open-gpu-kernel-modules README: Blackwell needs the open modules", elements="str"),
    Variable("nvidia_driver_source",
             "apt source of all of them, one line as in sources.list(5); empty where the host has it.", "",
             "NVIDIA driver installation guide"),
    Variable("nvidia_driver_drained",
             "Whether the play has drained the host; a loaded driver is not exchanged otherwise.", False,
             "the drain play says so"),
)  # fmt: skip

_NV5 = Scope(boards=NVLINK5)
_SWITCHED = Scope(boards=(*NVLINK5, *NVSWITCH))
_NV_REG = "open-gpu-kernel-modules nv-reg.h"
_OPTIONS = r"^{}: (?P<value>.*)$"
_FABRIC_MANAGER = command("systemctl", "show", "nvidia-fabricmanager", "--property=LoadState,ActiveState,NRestarts")
_VPD = files("/sys/class/infiniband/*/device/vpd", optional=True)


def _option(name: str, value: int, key: str, what: str, why: str, source: str = _NV_REG) -> Setting:
    """One option of the module, as the loaded driver shows it."""
    return Setting(
        id=f"nvidia_driver.{name}", variable=f"nvidia_driver_{name}", what=f"{what} (NVreg_{key})", why=why,
        value=value, choices=(0, 1), readings=(readings.NVIDIA_OPTIONS,), parse=text.said,
        argument=_OPTIONS.format(key), scope=GPUS, reboot=True, source=source,
    )  # fmt: skip


SETTINGS = (
    Setting(
        id="nvidia_driver.version", variable="nvidia_driver_version", reboot=True, severity="page",
        what="Version of driver, fabric manager and libraries", why="hosts of a pool behave differently",
        value=None, readings=(readings.NVIDIA_VERSION,), parse=text.words, scope=GPUS,
        source="azhpc-images test-definitions.sh: fabric manager equals driver",
    ),
    Setting(
        id="nvidia_driver.flavour", what="Open kernel modules", value=1, compare="at_least", severity="page",
        why="the closed modules do not know Blackwell", readings=(files("/proc/driver/nvidia/version"),),
        parse=text.count, argument="Open Kernel Module", scope=GPUS, fix="play role nvidia_driver on a drained host",
        source="open-gpu-kernel-modules README; GPU Operator driver.kernelModuleType",
    ),
    Setting(
        id="nvidia_driver.branch", what="Oldest branch of the driver that knows the board", value="535",
        compare="since", cases=(Case(Scope(boards=("hgx-b200",)), "570"), Case(Scope(boards=("hgx-b300",)), "580")),
        why="the GPUs or their switches are not known", readings=(readings.NVIDIA_VERSION,), parse=text.words,
        scope=GPUS, fix="play upgrade_driver with a newer nvidia_driver_version",
        source="NVIDIA, supported drivers: R580 until 2028-08, R535 until 2026-06; OCI B300 image 595",
    ),
    Setting(
        id="nvidia_driver.loaded", what="The loaded driver is the installed one", value="", compare="agree",
        why="nvidia-smi and CUDA end with a mismatch of libraries", severity="page",
        readings=(readings.NVIDIA_VERSION, command("modinfo", "--field=version", "nvidia")), parse=text.words,
        scope=GPUS, reboot=True, fix="drain and reboot: a newer driver is installed than the one that runs",
        source="public reports of NVML mismatch; see homelab#4110",
    ),
    Setting(
        id="nvidia_driver.fabric_manager", what="Fabric manager and libraries are the driver's own version", value="",
        compare="agree", why="the fabric manager ends, and CUDA with it (802)", severity="page",
        readings=(readings.NVIDIA_VERSION, readings.PACKAGES), parse=units.versions,
        argument=r"nvidia-fabricmanager(-\d+)?|libnvsdm.*|libnvidia-nscq.*|nvidia-open(-\d+)?|libnvidia-compute.*",
        scope=_SWITCHED, fix="play upgrade_driver: all of them in one version, from one source",
        source="gpu-operator#544; siderolabs/pkgs#720; nvtrust#55; dstack#2348; azhpc-images#86",
    ),
    Setting(
        id="nvidia_driver.nvlink", variable="nvidia_driver_nvlink", choices=("none", "nvswitch", "nvlink5"),
        what="What connects the GPUs, which decides on fabric manager and subnet manager", severity="page",
        why="without the NICs that manage the switches the fabric stays in progress, and CUDA never starts",
        value="none", cases=(Case(Scope(boards=NVSWITCH), "nvswitch"), Case(_NV5, "nvlink5")),
        readings=(_VPD, readings.LSPCI), parse=nvidia.switches, scope=GPUS,
        source="deepops nvidia-dgx vars; gpu-driver-container _assert_nvlink5_system",
    ),
    Setting(
        id="nvidia_driver.subnet_manager", what="Subnet manager of NVLink-5 switches (nvlsm) is installed", value=1,
        compare="at_least", why="the fabric manager ends on B200 and B300 without it", severity="page",
        readings=(readings.PACKAGES,), parse=text.count, argument=r"^nvlsm(:\S+)? \S+ .i", scope=_NV5,
        fix="play role nvidia_driver", source="siderolabs/extensions#717, #893, #895; deepops nvidia-dgx vars",
    ),
    Setting(
        id="nvidia_driver.link_modules", what="Modules that reach the switches' NICs", compare="has", severity="page",
        why="the fabric manager takes the path of older switches: fabric in progress, CUDA 802",
        value=("mlx5_core", "mlx5_ib", "ib_umad"), readings=readings.MODULES, parse=boot.modules, scope=_NV5,
        fix="play role nvidia_driver; on Ubuntu they are in linux-modules-extra",
        source="gpu-operator#2781; gpu-driver-container#908, _ensure_nvlink5_prerequisites",
    ),
    Setting(
        id="nvidia_driver.management_ports", value=1, compare="at_least", unit="ports", severity="page",
        what="Ports of the switches' NICs that a subnet manager may work through, and can (umad)",
        why="the subnet manager has no port to work through", parse=nvidia.management_ports, scope=_NV5,
        readings=(_VPD, files("/sys/class/infiniband_mad/umad*/ibdev", optional=True),
                  files("/sys/class/infiniband/*/ports/*/cap_mask", optional=True)),
        fix="modprobe ib_umad, then restart nvidia-fabricmanager on a drained host",
        source="gpu-driver-container; siderolabs/extensions#893, #895: not all of those NICs allow it",
    ),
    Setting(
        id="nvidia_driver.fabric_service", what="Fabric manager runs", value="active", severity="page",
        why="GPUs say that their fabric is complete long after it is dead (2.5 weeks in one report)",
        readings=(_FABRIC_MANAGER,), parse=units.service, scope=_SWITCHED,
        fix="see journalctl -u nvidia-fabricmanager; restart it on a drained host",
        source="NVSentinel#883, designs/050 and /030",
    ),
    Setting(
        id="nvidia_driver.fabric_restarts", what="Restarts of the fabric manager", value=3, compare="at_most",
        why="it ends again and again: versions or switches do not fit", unit="restarts", readings=(_FABRIC_MANAGER,),
        parse=units.prop, argument="NRestarts", scope=_SWITCHED, fix="see journalctl -u nvidia-fabricmanager",
        source="NVSentinel designs/050: fewer than 3 in 600 s",
    ),
    Setting(
        id="nvidia_driver.fabric_port", what="Port of the fabric manager (6666)", value=1, compare="at_least",
        why="it runs and does not listen", readings=(command("ss", "-ltn"),), parse=text.count, argument=r":6666\b",
        scope=Scope(boards=NVSWITCH), fix="restart nvidia-fabricmanager on a drained host",
        source="gpud: only before NVLink 5",
    ),
    Setting(
        id="nvidia_driver.persistence", variable="nvidia_driver_persistence", choices=("Enabled", "Disabled"),
        what="Whether the driver keeps state of idle GPUs", why="each start of an engine initialises the GPUs again",
        value="Enabled", readings=(readings.GPUS,), parse=nvidia.gpu, argument="persistence_mode", scope=GPUS,
        source="azurehpc-health-checks azure_gpu_persistence.nhc",
    ),
    Setting(
        id="nvidia_driver.persistence_service", what="Service that keeps the state", value="active",
        why="persistence mode ends with it", scope=GPUS, fix="play role nvidia_driver",
        readings=(command("systemctl", "show", "nvidia-persistenced", "--property=LoadState,ActiveState"),),
        parse=units.service, source="NVSentinel; deepops",
    ),
    Setting(
        id="nvidia_driver.peermem", variable="nvidia_driver_peermem", choices=("loaded", "absent"), value="absent",
        what="Whether nvidia-peermem serves GPUDirect RDMA; DMA-BUF needs no module", parse=nvidia.peermem,
        why="copies of GPU memory go through the host; a module loaded before OFED is there and serves nobody",
        readings=(files("/proc/modules"), files("/sys/kernel/mm/memory_peers/nv_mem*/version", optional=True)),
        scope=GPUS, source="NCCL user guide, env: NCCL_DMABUF_ENABLE; nccl#1537, #1939; gpu-operator#2868, #2619",
    ),
    Setting(
        id="nvidia_driver.dma_buf", what="Kernel that shares GPU memory by DMA-BUF", value="5.12", compare="since",
        why="without nvidia-peermem there is no GPUDirect RDMA on older ones", parse=text.pattern, severity="page",
        readings=(files("/proc/sys/kernel/osrelease"),), argument=r"^(?P<value>\d+\.\d+)",
        scope=Scope(boards=GPU_BOARDS, fabrics=("roce", "infiniband")),
        fix="install a newer kernel, or set nvidia_driver_peermem: loaded",
        source="NCCL user guide, troubleshooting of GPUs; Linux 5.12 brought ib_umem_dmabuf",
    ),
    _option("restrict_profiling", 1, "RestrictProfilingToAdminUsers", "Whether profiling is for root alone",
            "counters of a neighbour tell what it computes", f"{_NV_REG}; DCGM runs as root anyway"),
    _option("relaxed_ordering", 0, "EnablePCIERelaxedOrderingMode", "Whether all writes may be reordered",
            "data arrives before it is complete where CPU and NIC were not validated"),
    _option("topology_override", 0, "GrdmaPciTopoCheckOverride",
            "Whether RDMA is allowed against the driver's view of the bridges",
            "RDMA takes a slow way that the driver refuses", f"{_NV_REG}; azhpc-images sets 1 on some metal"),
    Setting(
        id="nvidia_driver.nvlink_bandwidth", what="NVLink is not throttled to save power (NVreg_RmNvlinkBandwidth)",
        why="a quarter to all of NVLink is off", value=0, readings=(readings.NVIDIA_OPTIONS,), parse=text.faults,
        argument=r"^RmNvlinkBandwidth: \"(?!FULL)\w+\"", scope=GPUS, source=_NV_REG,
        fix="take NVreg_RmNvlinkBandwidth out of /etc/modprobe.d, then reboot",
    ),
    Setting(
        id="nvidia_driver.coherent_memory", what="GPU memory is the driver's (NVreg_CoherentGPUMemoryMode)",
        why="the kernel takes it as a NUMA node and gives it to anybody", value='"driver"', reboot=True,
        readings=(readings.NVIDIA_OPTIONS,), parse=text.said, argument=_OPTIONS.format("CoherentGPUMemoryMode"),
        scope=ARM, fix="set options nvidia NVreg_CoherentGPUMemoryMode=driver in /etc/modprobe.d, then reboot",
        source="azhpc-images install_nvidiagpudriver.sh, test-definitions.sh",
    ),
    Setting(
        id="nvidia_driver.imex", what="Export of memory between hosts (nvidia-imex)", value="inactive",
        also=("not-found", "masked"), cases=(Case(ARM, "active"),), scope=GPUS,
        why="it is for racks that share NVLink; on others it fails, and in a rack jobs fail without it",
        readings=(command("systemctl", "show", "nvidia-imex", "--property=LoadState,ActiveState"),),
        parse=units.service, fix="systemctl disable --now nvidia-imex; in a rack: play deepops nvidia-imex",
        source="deepops nvidia-dgx vars: imex false on B300; oci-hpc-oke cloud-init: masked where DRA runs it",
    ),
    Setting(
        id="nvidia_driver.unattended_upgrades", what="Upgrades at night", value="0",
        why="the driver is exchanged under running pods",
        readings=(command("apt-config", "dump", "--format=%v%n", "APT::Periodic::Unattended-Upgrade"),),
        parse=text.words, scope=GPUS, fix="play role nvidia_driver",
        source="azhpc-images prerequisites.sh; deepops dgx_os7_disable_unattended_upgrades",
    ),
    Setting(
        id="nvidia_driver.holds", what="Packages of the driver that are held", value=1, compare="at_least",
        why="any upgrade takes the driver along", readings=(readings.PACKAGES,), parse=text.count, scope=GPUS,
        argument=r"^(lib)?nvidia\S* \S+ h", unit="packages", fix="play role nvidia_driver",
        source="azhpc-images prerequisites.sh",
    ),
    Setting(
        id="nvidia_driver.pinned", what="What an upgrade of everything makes of the driver's packages", value="kept",
        why="a hold that is misspelt holds nothing, and says nothing",
        readings=(readings.PACKAGES, readings.CANDIDATES), parse=units.upgrades,
        argument="(lib)?(nvidia|nvsdm|nvlsm|cuda-drivers).*", scope=GPUS, fix="play role nvidia_driver",
        source="azhpc-images verify_dnf_conf: the effective pin is tested",
    ),
    Setting(
        id="nvidia_driver.one_owner", what="A driver of the GPU Operator beside the host's own", value="no",
        why="two owners of one driver crash in turns", severity="page", parse=text.is_there, scope=GPUS,
        readings=(files("/run/nvidia/driver/etc/os-release", optional=True),),
        fix="set driver.enabled: false in the GPU Operator's values, or leave role nvidia_driver out",
        source="GPU Operator values driver.enabled; infra/catalog/ownership.py: RW-302",
    ),
    *GPU_STATE,
)  # fmt: skip
"""In the order of the boot chain of an NVLink-5 board."""
