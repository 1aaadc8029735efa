"""Every setting of a host, once: what, why, how much, and how it is read back.

Role defaults, host checks and the table in the docs are made from it.
"""

from __future__ import annotations

from infra.catalog.host_tuning import cpu, kernel, pcie
from infra.catalog.host_tuning.setting import Answer, Means, Reading, Scope, Setting

SETTINGS: tuple[Setting, ...] = (*kernel.SETTINGS, *cpu.SETTINGS, *pcie.SETTINGS)
"""By role, in the order in which the roles run."""

__all__ = ["SETTINGS", "Answer", "Means", "Reading", "Scope", "Setting"]
