"""The network of a pool as it is written: what is mistaken is told in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from infra.config.blocks import overlap
from tests.unit.plan.specs import all_said

NET = "pools/gpus/network"


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ({"subnet": "10.1.0.5/16"}, "an address in a block; write the block itself, 10.1.0.0/16"),
        ({"subnet": "10.1.0.0"}, "write it with its prefix length"),
        ({"subnet": 10}, "write it with its prefix length"),
        ({"subnet": "10.1.0.0/16", "subnets": ["10.2.0.0/16"]}, "one block for all rails, or one for each"),
        ({"routed": True}, "routed without addresses"),
        ({"addresses_per_host": 4}, "addresses_per_host without addresses"),
        ({"functions": 4}, "functions without mode: sriov"),
        ({"mode": "shared", "partition": "0x8002"}, "partition without mode: sriov"),
        ({"mode": "sriov", "functions": 128}, "lower it"),
        ({"mode": "sriov", "functions": 1, "partition": 32770}, "is not allowed"),
        ({"mode": "vf"}, "known are: host-device, shared, sriov"),
        ({"interfaces": ["a b"]}, "at most 15 characters"),
        ({"mtus": 1}, "did you mean 'mtu'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_sentence(network: dict[str, Any], said: str) -> None:
    """Nothing that hangs on it is told beside it."""
    (found,) = all_said({NET: network})
    assert found.startswith("pools.gpus.network")
    assert said in found


def test_blocks_of_different_families_do_not_overlap() -> None:
    """Whatever their numbers."""
    from ipaddress import ip_network

    assert overlap(ip_network("10.0.0.0/8"), ip_network("10.1.0.0/16"))
    assert not overlap(ip_network("10.0.0.0/8"), ip_network("11.0.0.0/8"))
    assert not overlap(ip_network("0.0.0.0/0"), ip_network("::/0"))
    assert overlap(ip_network("fd00::/8"), ip_network("fd00:1::/64"))
