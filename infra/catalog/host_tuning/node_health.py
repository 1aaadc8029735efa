"""Node health: who watches the host, and what its board management has seen."""

from __future__ import annotations

from infra.catalog.host_tuning.kinds import CLUSTER, GPUS, METAL
from infra.catalog.host_tuning.parsers import text, units
from infra.catalog.host_tuning.setting import Case, Setting, Variable, command

WHAT = "What watches a host from inside - node exporter, DCGM, kernel log."
"""What the role does."""

VARIABLES = (
    Variable("node_health_exporter_address", "Address that node exporter listens at.", ":9100",
             "prometheus/node_exporter"),
    Variable("node_health_dcgm_package", "Package of DCGM.", "datacenter-gpu-manager-4-core",
    "DCGM installation guide"),
    Variable("node_health_log_interval", "Time between two looks at the log.", 60,
             "oci-hpc-oke node problem detector: fast checks every minute", unit="s"),
    Variable("node_health_textfiles", "Folder whose metrics node exporter passes on.",
             "/var/lib/prometheus/node-exporter", "Debian prometheus-node-exporter"),
)  # fmt: skip

_BMC = "facebookresearch/gcm check-ipmitool, check-sensors"


def _watcher(name: str, unit: str, value: str, what: str, source: str) -> Setting:
    return Setting(
        id=f"node_health.{name}", variable=f"node_health_{name}", choices=("running", "absent"), value=value, what=what,
        why="faults of the host are seen by users first", parse=units.presence, source=source,
        readings=(command("systemctl", "show", unit, "--property=LoadState,ActiveState"),),
        scope=GPUS if name == "dcgm" else METAL,
        cases=(Case(CLUSTER, "absent"),) if name == "exporter" else (),
    )  # fmt: skip


SETTINGS = (
    _watcher("exporter", "prometheus-node-exporter", "running",
             "Whether node exporter runs on the host itself and not in a pod", "Debian prometheus-node-exporter"),
    _watcher("dcgm", "nvidia-dcgm", "absent",
             "Whether the one DCGM host engine runs on the host itself and not in a pod",
             "azhpc-images PR#587: one owner of profiling"),
    _watcher("log_watcher", "railwright-kernel-log.timer", "running",
             "Whether Xid, SXid and NIC errors of the kernel log become metrics", "NVIDIA Xid catalogue"),
    Setting(
        id="node_health.host_engines", what="Host engines of DCGM", value=1, compare="at_most", unit="processes",
        why="only one may read profiling counters: the other ends again and again", parse=text.faults,
        readings=(command("ps", "-eo", "comm="),), argument=r"^nv-hostengine\s*$", scope=GPUS,
        fix="stop nvidia-dcgm on the host, or let the exporter in the cluster use it", source="azhpc-images PR#587",
    ),
    Setting(
        id="node_health.event_log", what="Events that the board's management has recorded", value=0, unit="events",
        why="a fault of the past hides the next one", readings=(command("ipmitool", "sel", "info"),), severity="note",
        parse=text.pattern, argument=r"^Entries\s+: (?P<value>\d+)", scope=METAL,
        fix="read it (ipmitool sel elist), repair, then ipmitool sel clear", source=_BMC,
    ),
    Setting(
        id="node_health.power_supplies", what="Power supplies that failed or have no input", value=0, severity="page",
        why="the host brakes its GPUs: an HGX B300 takes 14.5 kW", unit="supplies", parse=text.faults,
        readings=(command("ipmitool", "sdr", "type", "Power Supply"),), scope=METAL,
        argument=r"(?i)\|.*\b(failure detected|predictive failure|lost|redundancy lost|non-redundant)",
        fix="see ipmitool sdr type 'Power Supply'; replace the supply, or mend its feed", source=_BMC,
    ),
    Setting(
        id="node_health.fans", what="Fans out of their range", value=0, severity="page", unit="fans", parse=text.faults,
        why="GPUs are slowed by heat, then switched off", readings=(command("ipmitool", "sdr", "type", "Fan"),),
        argument=r"\|\s*(cr|nr|nc)\s*\|", scope=METAL, fix="replace the fan", source=_BMC,
    ),
)  # fmt: skip
"""The watchers, then the board below them."""
