"""What runbooks may do about a finding; each mixin is one value of ``do`` with its step, its undo and its refusals."""

from __future__ import annotations

from runbooks.lib.mitigations.drain_host import DrainHost
from runbooks.lib.mitigations.remedy import Remedy, chosen
from runbooks.lib.mitigations.restart import ReplacePod, Restart
from runbooks.lib.mitigations.roll_back import RollBack
from runbooks.lib.mitigations.scale_up import ScaleUp
from runbooks.lib.mitigations.shed_tier import ShedTier
from runbooks.lib.mitigations.silence import Silence, SilenceInputs

__all__ = [
    "DrainHost",
    "Remedy",
    "ReplacePod",
    "Restart",
    "RollBack",
    "ScaleUp",
    "ShedTier",
    "Silence",
    "SilenceInputs",
    "chosen",
]
