"""What hosts say: for each setting an answer that is right and one that is wrong."""

from __future__ import annotations

import re

from infra.catalog.host_tuning import SETTINGS, Answer, Means, Reading, Setting
from infra.plan.hosts import HostFacts, Rail, Wanted, wanted
from tests.unit.catalog.host_tuning.samples import gpus, machine, rails, services
from tests.unit.catalog.host_tuning.samples.form import Said, Sample

RAIL = Rail("ens1", "0000:18:00.0", "10.1.0.5/24")
B300 = HostFacts("b300-01", "large", "hgx-b300", "roce", rails=(RAIL,),
                 variables={"nvidia_driver_version": "580.126.09",
                 "rdma_firmware": ("ADVANCED_PCI_SETTINGS=1",)})  # fmt: skip
HOSTS = (
    B300,
    HostFacts("h100-01", "older", "hgx-h100", "infiniband", rails=(RAIL,)),
    HostFacts("gh200-01", "grace", "hgx-h200", "roce", rails=(RAIL,), cpu="arm"),
    HostFacts("vm-01", "guests", "hgx-h100", "roce", machine="virtual", rails=(RAIL,)),
)  # fmt: skip
"""Hosts of each kind; a sample is of the first one that has the setting."""

BY_ID: dict[str, Sample] = {**machine.BY_ID, **gpus.BY_ID, **rails.BY_ID, **services.BY_ID}
"""Setting → what a host says; sysctls follow from their values."""


def item(setting: Setting) -> Wanted:
    """The setting as a sample host wants it."""
    return next(one for host in HOSTS for one in wanted(host, (setting,)) if one.value != ())


def texts(setting: Setting) -> Sample:
    """Right and wrong texts of a setting."""
    if setting.id in BY_ID:
        return BY_ID[setting.id]
    none = (None,) * (len(setting.readings) - 1)
    if isinstance(setting.value, str):
        return (setting.value.replace(" ", "\t") + "\n", *none), ("1\t2\t3\n", *none)
    value = int(str(setting.value))
    wrong = {"at_least": value - 1, "at_most": value + 1}.get(setting.compare, 1 if value != 1 else 0)
    return (f"{value}\n", *none), (f"{wrong}\n", *none)


def answers(wanted_item: Wanted, said: tuple[Said, ...]) -> dict[Reading, Answer]:
    """Texts as a host would give them back."""
    pairs = zip(wanted_item.readings, said, strict=True)
    return {reading: _answer(reading, one) for reading, one in pairs}


def _answer(reading: Reading, said: Said) -> Answer:
    if said is None:
        return Answer() if reading.means is Means.FILES else Answer({"": ""}, status=127)
    if isinstance(said, str):
        path = re.sub(r"\[0-9\]\*|\*", "0", reading.ask[0])
        return Answer({path if reading.means is Means.FILES else "": said})
    return Answer(dict(said))


EACH = {setting.id: setting for setting in SETTINGS}
"""By id."""
