"""CPU and NUMA: clocks, sleep, interrupts, huge pages."""

from __future__ import annotations

from infra.catalog.host_tuning import parsers
from infra.catalog.host_tuning.setting import Means, Reading, Scope, Setting

ROLE = "cpu"
"""Role that applies them."""

_METAL = Scope(machine="metal")

SETTINGS = (
    Setting(
        id="cpu.governor", role=ROLE, variable="cpu_governor", what="Governor of every CPU's clock",
        why="kernels are launched late while a clock speeds up", value="performance", compare="equals",
        readings=(Reading(Means.FILES, ("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",)),),
        parse=parsers.words, source="oci-hpc check_gpu_setup.py; TuneD accelerator-performance", scope=_METAL,
    ),
    Setting(
        id="cpu.all_online", role=ROLE, variable="", what="CPUs that are online are all that could be",
        why="a core that was taken out changes which CPUs are near which GPU", value="", compare="agree",
        readings=(Reading(Means.FILES, ("/sys/devices/system/cpu/online",)),
                  Reading(Means.FILES, ("/sys/devices/system/cpu/possible",))),
        parse=parsers.words, source="NVIDIA health validation: online equals possible", scope=_METAL,
    ),
    Setting(
        id="cpu.transparent_hugepages", role=ROLE, variable="cpu_transparent_hugepages",
        what="Who gets huge pages unasked", why="always stalls on compaction, never slows copies of weights",
        value="madvise", compare="equals",
        readings=(Reading(Means.FILES, ("/sys/kernel/mm/transparent_hugepage/enabled",)),),
        parse=parsers.bracketed, source="TuneD profiles disagree (hpc-compute always, network-latency never)",
    ),
    Setting(
        id="cpu.irqbalance", role=ROLE, variable="cpu_irqbalance", what="irqbalance moves interrupts",
        why="a NIC's interrupts leave its NUMA node: 10 to 20 % of bandwidth", value="inactive", compare="equals",
        readings=(Reading(Means.COMMAND, ("systemctl", "show", "irqbalance", "--property=ActiveState")),),
        parse=parsers.unit_property, argument="ActiveState", source="mlnx-tools set_irq_affinity_bynode.sh",
        scope=_METAL,
    ),
)  # fmt: skip
"""Of the machine itself; a guest sees none of them."""
