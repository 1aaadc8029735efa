"""Bare metal: the hosts are there, joined and labelled by the host plays; the stack adds nothing to them."""

from __future__ import annotations

from infra.targets import Target


class BaremetalTarget(Target):
    """Hosts come from the inventory, labels from the kubelet's arguments in it, the runtime class from an operator."""
