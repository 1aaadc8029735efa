"""Links of an InfiniBand fabric, whichever tool printed them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from infra.errors import ConfigError

LANE_GBIT = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0,
    "XDR": 200.0,
}  # fmt: skip
"""Name of a speed → what one lane of it carries (Gbit/s). Source: InfiniBand Trade Association, roadmap."""

PRINTED = {
    "2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "14.0625": "FDR", "25.78125": "EDR", "53.125": "HDR", "106.25": "NDR",
    "212.5": "XDR",
}  # fmt: skip
"""What iblinkinfo prints of a lane (Gbit/s, as signalled) → name of the speed. Source: rdma-core, libibmad/dump.c."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Lanes and speed of a link."""

    lanes: int
    speed: str
    """Name of the speed, such as ``NDR``; as printed where it has none here."""

    @property
    def gbit(self) -> float:
        """What it carries (Gbit/s); 0 when the speed is not known."""
        return self.lanes * LANE_GBIT.get(self.speed, 0.0)

    def __str__(self) -> str:
        return f"{self.lanes}x{self.speed}"


def rate(word: str) -> Rate:
    """Read a word such as ``4xNDR``.

    Raises:
        ConfigError: it is none.
    """
    match = re.fullmatch(r"(\d+)[xX](\w+)", word)
    if match is None or match[2].upper() not in LANE_GBIT:
        raise ConfigError(f"rate {word!r} — is no lanes and speed — write it like 4xNDR: {', '.join(LANE_GBIT)}")
    return Rate(int(match[1]), match[2].upper())


@dataclass(frozen=True, slots=True)
class End:
    """One port at an end of a link."""

    name: str
    """Description that the node gives itself."""
    guid: str
    """Hexadecimal, without leading zeros; empty where the tool does not say it."""
    port: int
    kind: Literal["switch", "host", ""]
    """Empty where the tool does not say it."""

    @property
    def node(self) -> str:
        """What tells its node from others."""
        return self.guid or self.name

    def __str__(self) -> str:
        return f"{self.name!r} port {self.port}"


@dataclass(frozen=True, slots=True)
class Link:
    """One cable between two ports that see each other."""

    near: End
    far: End
    rate: Rate
    state: str = ""
    """Logical state, such as ``Active`` or ``Initialize``; empty where the tool does not say it."""
