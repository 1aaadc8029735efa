"""Where the NICs of a fabric sit in machine types whose virtual functions the cloud makes."""

from __future__ import annotations

from collections.abc import Mapping

_SINGLE = ("0c", "2a", "41", "58", "86", "a5", "bd", "d5")
_B300 = ("11", "2f", "46", "5d", "8b", "aa", "c2", "da")


def _addresses(buses: tuple[str, ...], ports: int) -> tuple[str, ...]:
    return tuple(f"0000:{bus}:00.{port}" for bus in buses for port in range(ports))


ROOT_DEVICES: Mapping[str, tuple[str, ...]] = {
    "BM.GPU.H100.8": _addresses(_SINGLE, 2),
    "BM.GPU.H200.8": _addresses(_SINGLE, 1),
    "BM.GPU.B200.8": _addresses(_SINGLE, 1),
    "BM.GPU.B300.8": _addresses(_B300, 2),
}
"""Machine type → PCI addresses of its physical functions, in the order of rails. Source: oci-hpc-oke 26.7.0,
terraform/files/nvidia-network-operator/sriov-network-node-policy.yaml."""
