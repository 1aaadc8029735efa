"""What hosts say: for each setting an answer that is right and one that is wrong."""

from __future__ import annotations

from infra.catalog.host_tuning import SETTINGS, Answer, Reading, Setting
from infra.catalog.host_tuning.setting import Means

BRIDGE = "16:00.0 PCI bridge: Broadcom PEX890xx\n\tCapabilities: [1c0] Access Control Services\n\t\tACSCap: SrcValid+\n"
NIC = (
    "18:00.0 Infiniband controller: Mellanox ConnectX-7\n"
    "\t\tDevCtl: CorrErr+\n\t\t\tMaxPayload 512 bytes, MaxReadReq {size} bytes\n"
    "\t\tLnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta: Speed {speed}, Width {width}\n"
)

BY_ID: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cpu.governor": (("performance\n",), ("powersave\n",)),
    "cpu.all_online": (("0-255\n", "0-255\n"), ("0-254\n", "0-255\n")),
    "cpu.transparent_hugepages": (("always [madvise] never\n",), ("[always] madvise never\n",)),
    "cpu.irqbalance": (("ActiveState=inactive\n",), ("ActiveState=active\n",)),
    "pcie.acs": ((BRIDGE + "\t\tACSCtl: SrcValid- TransBlk-\n",), (BRIDGE + "\t\tACSCtl: SrcValid+ TransBlk-\n",)),
    "pcie.iommu": (("ro iommu=pt quiet\n",), ("ro iommu=pt iommu=on quiet\n",)),
    "pcie.max_read_request": ((NIC.format(size=4096, speed="32GT/s", width="x16"),),
                              (NIC.format(size=512, speed="32GT/s", width="x16"),)),
    "pcie.link": ((NIC.format(size=4096, speed="32GT/s", width="x16"),),
                  (NIC.format(size=4096, speed="32GT/s (ok)", width="x8 (downgraded)"),)),
}  # fmt: skip
"""Setting → right texts, one of each reading, and wrong ones; sysctls follow from their values."""


def texts(setting: Setting) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Right and wrong texts of a setting."""
    if setting.id in BY_ID:
        return BY_ID[setting.id]
    value = setting.value
    if isinstance(value, int):
        wrong = value + 1 if setting.compare == "at_most" else value - 1
        return (f"{value}\n",), (f"{wrong}\n",)
    return (f"{value[0]}\n",), ("1\n",)


def answers(setting: Setting, said: tuple[str, ...]) -> dict[Reading, Answer]:
    """Texts as a host would give them back."""
    found = {}
    for reading, text in zip(setting.readings, said, strict=True):
        found[reading] = Answer({reading.ask[0] if reading.means is Means.FILES else "": text})
    return found


EACH = {setting.id: setting for setting in SETTINGS}
