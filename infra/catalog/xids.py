"""Faults that kernel drivers of GPUs, NVSwitches and NICs report, by what has to be done about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a fault asks for, from the least to the most that it takes."""

    IGNORE = "nothing has to be done"
    AFTERMATH = "look at what came before it"
    RESTART_APP = "look at the application"
    READ_MEMORY = "read the memory errors beside it"
    READ_LINKS = "read the link errors"
    UPDATE = "update driver and firmware"
    DRIVER_SAYS = "do what the driver says"
    ASK = "ask the vendor: no source says what to do"
    CHECK_CABLES = "check cables, power and seating"
    COOL = "check fans and airflow"
    RESET_NIC = "reset the NIC"
    RESET_GPU = "reset the GPU"
    RESET_FABRIC = "reset all GPUs and NVSwitches of the host"
    RESTART_HOST = "restart the host"
    REPLACE = "replace it"

    @property
    def rank(self) -> int:
        """Place in the order above; of several faults of one device the last one's action counts."""
        return list(Action).index(self)


ACTIONS: Mapping[Action, tuple[int, ...]] = {
    Action.RESET_GPU: (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158),
    Action.RESTART_HOST: (79, 151),
    Action.READ_MEMORY: (48,),
    Action.READ_LINKS: (74, *range(144, 151)),
    Action.DRIVER_SAYS: (154,),
    Action.CHECK_CABLES: (54,),
    Action.UPDATE: (78, 159),
    Action.RESTART_APP: (
        8, 11, 13, 25, 31, 32, *range(39, 42), 60, *range(68, 73), *range(75, 78), 80, *range(82, 90), 94,
        *range(96, 106), *range(126, 136), 139,
    ),
    Action.AFTERMATH: (45,),
    Action.IGNORE: (14, 37, 38, 43, 44, 63, 66, 67, 92, 93, *range(106, 109), 121, 137, 141, 152, 153, 157, 160, 161),
    Action.ASK: tuple(range(162, 173)),
}  # fmt: skip
"""What to do → codes; 162 to 172 are reserved there and have no action.

Xid 159 is CHECK_UVM there, the driver's unified memory; 151 is RESTART_VM, and a host without guests is its own.

Source: NVIDIA Xid catalogue, as carried in oracle-quickstart/oci-hpc, roles/healthchecks/files/xid_catalog_data.json.
"""

SERIOUS: tuple[int, ...] = tuple(
    sorted(
        code
        for action, codes in ACTIONS.items()
        for code in codes
        if action not in (Action.IGNORE, Action.AFTERMATH, Action.RESTART_APP, Action.ASK)
    )
)
"""Codes after which a GPU or its host must be seen to."""

REPLACE: tuple[int, ...] = (48, 64, 79, 95, 140)
"""Codes after which a GPU that shows them again is replaced. Source: NVIDIA GPU debug guidelines, field diagnosis."""

UPGRADE: tuple[int, ...] = (119, 120)
"""Codes of a GPU's system processor (GSP), which a reset cures until they come again: then the driver's is to blame.

Source: NVIDIA/open-gpu-kernel-modules#446, #1048, and reports since: gone with a newer driver, and its firmware.
"""

DRIVER_SAYS: Mapping[str, Action] = {
    "None": Action.IGNORE,
    "GPU Reset Required": Action.RESET_GPU,
    "PF FLR": Action.RESET_GPU,
    "Drain and Reset": Action.RESET_GPU,
    "Node Reboot Required": Action.RESTART_HOST,
    "OS Reboot": Action.RESTART_HOST,
}
"""What the driver asks for in the text of Xid 154; a text that is not here is one that a person must read.

Source: oracle-quickstart/oci-hpc xid_checker.py; kernel logs of drivers 595 and 610 in public reports.
"""

SXIDS: Mapping[Action, tuple[int, ...]] = {
    Action.RESTART_HOST: (12020, 22003, 22011, *range(23001, 23018)),
    Action.RESET_FABRIC: (10003, 12028, 19084),
    Action.CHECK_CABLES: (20012,),
    Action.COOL: (10004, 10005),
    Action.ASK: (11004,),
    Action.IGNORE: (
        11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011, 19049, 19055, 19057, 19059, 19062, 19065, 19068, 19071,
        20001, 22013, 24001, 24002, 24003,
    ),
}  # fmt: skip
"""What to do → codes of NVSwitches; one that is not here is told by the word ``Fatal`` or ``Non-fatal`` beside it.

20012 is a broken link; 12028 stalls the links of a GPU; 11004 is a wrong partition; single-bit errors are corrected.
NVSwitches are devices of the host before NVLink 5 only.

Source: NVIDIA Fabric Manager User Guide DU-09883, D.4 to D.7, as carried in leptonai/gpud, components/sxid.
"""


@dataclass(frozen=True, slots=True)
class NicFault:
    """What the driver of a NIC says when something is wrong."""

    name: str
    pattern: str
    """Regular expression, found within the message."""
    action: Action


NIC_FAULTS: tuple[NicFault, ...] = (
    NicFault("hot module", r"Port module event\[error\]: .*High Temperature", Action.COOL),
    NicFault("bad module", r"Port module event\[error\]", Action.CHECK_CABLES),
    NicFault("no module", r"Port module event: .*(?:unplugged|absent)", Action.CHECK_CABLES),
    NicFault("too little power", r"Detected insufficient power on the PCIe slot", Action.CHECK_CABLES),
    NicFault("slow PCIe link", r"available PCIe bandwidth, limited by", Action.CHECK_CABLES),
    NicFault("firmware gone", r"device's health compromised - reached miss count", Action.RESTART_HOST),
    NicFault("firmware fault", r"synd 0x8: unrecoverable hardware error", Action.REPLACE),
    NicFault("firmware fault", r"firmware internal error|Fatal error \d+ detected", Action.RESET_NIC),
    NicFault("firmware deaf", r"timeout\. Will cause a leak of a command resource", Action.RESTART_HOST),
    NicFault("stuck queue", r"NETDEV WATCHDOG: .*transmit queue \d+ timed out", Action.RESET_NIC),
    NicFault("refused register", r"ACCESS_REG\(0x805\).* failed", Action.IGNORE),
    NicFault("link down", r"\bLink down\b", Action.READ_LINKS),
)
"""In the order in which they are tried: the first that fits counts.

Source: Linux, drivers/net/ethernet/mellanox/mlx5/core/{health,events,cmd}.c and PCI core; what each asks for as
NVIDIA/NVSentinel, NIC health monitor, has it, where a host that is not a guest is restarted in place of replaced.
"""


def action(code: int) -> Action:
    """What an Xid asks for; a code that nobody has described is one to ask about."""
    return next((what for what, codes in ACTIONS.items() if code in codes), Action.ASK)


def again(code: int) -> str:
    """What else to do when an Xid comes again, as the end of a sentence; empty where nothing is known."""
    if code in REPLACE:
        return "; replace it if that comes again"
    return "; upgrade the driver if that comes again" if code in UPGRADE else ""


def sxid_action(code: int, text: str) -> Action:
    """What an SXid asks for.

    Args:
        text: what the driver says behind the code, such as ``Fatal, Link 30 LTSSM Fault Up``.
    """
    known = next((what for what, codes in SXIDS.items() if code in codes), None)
    is_fatal = text.startswith("Fatal")
    if known is not None and not (is_fatal and known.rank < Action.RESET_FABRIC.rank):
        return known
    if is_fatal:
        return Action.RESET_FABRIC
    return Action.IGNORE if text.startswith("Non-fatal") else Action.ASK
