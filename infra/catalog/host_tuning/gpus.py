"""State of GPUs that no role sets: power, memory, links, fabric; part of the driver's settings."""

from __future__ import annotations

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import GPUS, GPUS_METAL, NVLINK5, NVSWITCH, by_board, gpu_boards
from infra.catalog.host_tuning.parsers import nvidia, text
from infra.catalog.host_tuning.setting import Case, Scope, Setting, files

_SWITCHED = Scope(boards=(*NVLINK5, *NVSWITCH))
_RESET = "drain the host and reset the GPU; reboot when it stays"
_FABRIC = r"^ {4}Fabric\n\s+State\s+: (?P<value>\S.*?)\s*$"
_STATUS = r"^ {4}Fabric\n\s+State\s+:.*\n\s+Status\s+: (?P<value>\S.*?)\s*$"


def _marketing(name: str) -> str:
    """Name of a board's GPU as nvidia-smi says it: the label's, with spaces."""
    gpu = BOARDS[name].gpu
    return gpu.product.replace("-", " ") if gpu else ""


GPU_STATE = (
    Setting(
        id="nvidia_driver.gpus", what="GPUs by name", value=None, cases=by_board(
            {board.name: _marketing(board.name) for board in gpu_boards()}),
        why="a board other than the plan's has other memory and speed", severity="page", readings=(readings.GPUS,),
        parse=nvidia.gpu, argument="name", scope=GPUS, fix="correct the pool's board, or the host's pool",
        source="infra/catalog/gpus.py",
    ),
    Setting(
        id="nvidia_driver.gpu_count", what="GPUs that the driver drives", value=8, severity="page", unit="GPUs",
        why="one fell off the bus, or could not be initialised", readings=(readings.GPUS,), parse=text.count,
        argument=r"^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:", scope=GPUS,
        cases=by_board({board.name: board.gpus for board in gpu_boards()}),
        fix="see pcie.gpus and the kernel log (Xid 79); reboot, then repair",
        source="NVIDIA health validation gpu_count",
    ),
    Setting(
        id="nvidia_driver.gpus_agree", what="GPUs by each who counts them: the bus, the driver, nvidia-smi", value="",
        compare="agree", why="one that is on the bus and not with the driver could not be initialised",
        readings=(readings.LSPCI, files("/proc/driver/nvidia/gpus/*/information", optional=True), readings.GPUS),
        parse=nvidia.counted, scope=GPUS, fix="see RmInitAdapter and Xid in the kernel log; reboot, then repair",
        source="public checks that take any one of them for an answer (facebookresearch/gcm, oci-hpc)",
    ),
    Setting(
        id="nvidia_driver.memory", what="Memory of each GPU", value=None, compare="at_least", unit="MiB",
        cases=by_board({board.name: board.gpu.memory_smi_mib for board in gpu_boards() if board.gpu}),
        why="the plan's cache does not fit: rows were taken out, or the GPU is another", readings=(readings.GPUS,),
        parse=nvidia.gpu, argument="memory.total", scope=GPUS, fix="see nvidia-smi -q -d ROW_REMAPPER; it is a repair",
        source="infra/catalog/gpus.py: what nvidia-smi shows",
    ),
    Setting(
        id="nvidia_driver.power_limit", what="Power that each GPU may take", value=None, compare="at_least", unit="W",
        cases=by_board({"hgx-b300": 1_100, "hgx-b200": 1_000, "hgx-h200": 700, "hgx-h100": 700}),
        why="a capped GPU is slow and says nothing", readings=(readings.GPUS,), parse=nvidia.gpu,
        argument="power.limit", scope=GPUS_METAL, fix="nvidia-smi --power-limit with the default limit",
        source="DCGM diag-skus.yaml.in; data sheets",
    ),
    Setting(
        id="nvidia_driver.power_brake", what="Brake that the power supply pulls", value="Not Active", severity="page",
        why="all GPUs run at a fraction of their clock", readings=(readings.GPUS,), parse=nvidia.gpu,
        argument="clocks_throttle_reasons.hw_power_brake_slowdown", scope=GPUS,
        fix="see the power supplies: node_health.power_supplies", source="azurehpc-health-checks clock throttling",
    ),
    Setting(
        id="nvidia_driver.ecc", what="Correction of memory errors (ECC)", value="Enabled", severity="page",
        why="wrong tokens and nobody notices", readings=(readings.GPUS,), parse=nvidia.gpu,
        argument="ecc.mode.current", scope=GPUS, fix="nvidia-smi --ecc-config=1, then reset the GPUs on a drained host",
        source="azurehpc-health-checks azure_gpu_ecc.nhc",
    ),
    Setting(
        id="nvidia_driver.ecc_errors", what="Memory errors since boot that could not be corrected", value=0,
        why="a process got wrong data and was ended", readings=(readings.GPUS,), parse=nvidia.gpu, severity="page",
        argument="ecc.errors.uncorrected.volatile.total", scope=GPUS, unit="errors", fix=_RESET,
        source="azurehpc-health-checks: any volatile uncorrectable error drains",
    ),
    Setting(
        id="nvidia_driver.rows_pending", what="Rows of memory that wait to be replaced", value="No",
        why="the next error in the row is not corrected", readings=(readings.REMAPS,), parse=nvidia.remap,
        argument="remapped_rows.pending", scope=GPUS, fix=_RESET, source="oci-hpc check_gpu_setup.py; gpud",
    ),
    Setting(
        id="nvidia_driver.rows_failed", what="Rows of memory that could not be replaced", value="No", severity="page",
        why="the bank has no spare rows left", readings=(readings.REMAPS,), parse=nvidia.remap,
        argument="remapped_rows.failure", scope=GPUS, fix="drain the host; the board is a repair (RMA)",
        source="gpud QualifiesForRMA; oci-hpc check_gpu_setup.py",
    ),
    Setting(
        id="nvidia_driver.mig", what="Slicing of GPUs (MIG)", value="Disabled", readings=(readings.GPUS,),
        why="a slice has no NVLink: tensor parallelism does not start", parse=nvidia.gpu, argument="mig.mode.current",
        scope=GPUS, fix="nvidia-smi -mig 0, then reset the GPUs on a drained host", source="NVIDIA MIG user guide",
    ),
    Setting(
        id="nvidia_driver.vbios", what="Firmware of all GPUs of the host is one", value="", compare="agree",
        why="GPUs of one board behave differently", readings=(readings.GPUS,), parse=nvidia.gpu, severity="note",
        argument="vbios_version", scope=GPUS, fix="have the vendor's firmware bundle installed as a whole",
        source="imbue-ai/cluster-health health_checks.py",
    ),
    Setting(
        id="nvidia_driver.nvlinks", what="NVLinks of each GPU that are up", value=18, severity="page", unit="links",
        why="collectives are as slow as the GPU with fewest links", readings=(readings.NVLINKS,), parse=nvidia.links,
        scope=_SWITCHED, fix=_RESET, source="oci-hpc; NVIDIA health validation nvlink_active",
    ),
    Setting(
        id="nvidia_driver.nvlink_speed", what="Speed of each NVLink", value=25, compare="at_least", unit="GB/s",
        cases=(Case(Scope(boards=NVLINK5), 50),), why="collectives are slow", readings=(readings.NVLINKS,),
        parse=text.pattern, argument=r"Link \d+: (?P<value>[\d.]+) GB/s", scope=_SWITCHED, fix=_RESET,
        source="oci-hpc: at least 50 (B200, B300) and 25 (H100, H200)",
    ),
    Setting(
        id="nvidia_driver.fabric_state", what="Each GPU's registration with the NVLink fabric", value="Completed",
        why="CUDA does not start: error 802", readings=(readings.EVERYTHING,), parse=text.pattern, argument=_FABRIC,
        scope=_SWITCHED, severity="page", fix="see nvidia_driver.link_modules and journalctl -u nvidia-fabricmanager",
        source="gpu-operator#2781; it stays when the fabric manager dies: nvidia_driver.fabric_service",
    ),
    Setting(
        id="nvidia_driver.fabric_status", what="What came of that registration", value="Success", severity="page",
        why="CUDA does not start: error 802", readings=(readings.EVERYTHING,), parse=text.pattern, argument=_STATUS,
        scope=_SWITCHED, fix="see journalctl -u nvidia-fabricmanager", source="gpu-operator#2781",
    ),
)  # fmt: skip
"""Only read: what is wrong here is repaired, or set by hand on a drained host."""
