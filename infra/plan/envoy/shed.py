"""A switch per tier, off by default: its share of requests is refused, so that the others are served.

It is set at run time through the administration inside each gateway pod, and a pod that starts anew has it off.
"""

from __future__ import annotations

from typing import Any


def runtime_key(tier: str) -> str:
    """Name the switch of a tier: how many of 100 requests are refused."""
    return f"railwright.shed.{tier}"


def chance(tier: str) -> dict[str, Any]:
    """Match the share of requests that the switch says."""
    return {"default_value": {"numerator": 0, "denominator": "HUNDRED"}, "runtime_key": runtime_key(tier)}


def switches() -> dict[str, Any]:
    """Let the administration change what is read at run time; without this layer it may not."""
    return {"layers": [{"name": "admin", "admin_layer": {}}]}
