"""Every setting of a host, once: what, why, how much, and how it is read back.

Role defaults, host checks and the table in the docs are made from it.
"""

from __future__ import annotations

from infra.catalog.host_tuning.roles import ROLES, Role
from infra.catalog.host_tuning.setting import Answer, Case, Means, Reading, Scope, Setting, Value, Variable

SETTINGS: tuple[Setting, ...] = tuple(setting for role in ROLES for setting in role.settings)
"""By role, in the order in which the roles run."""

__all__ = [
    "ROLES", "SETTINGS", "Answer", "Case", "Means", "Reading", "Role", "Scope", "Setting", "Value", "Variable",
]  # fmt: skip
