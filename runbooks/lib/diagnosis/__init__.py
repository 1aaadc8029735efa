"""What runbooks ask first: what is wrong, since when, which change came before it, what differs from the plan."""

from __future__ import annotations

from runbooks.lib.diagnosis.background import Background
from runbooks.lib.diagnosis.finding import Finding, findings, found, given, told, wanted

__all__ = ["Background", "Finding", "findings", "found", "given", "told", "wanted"]
