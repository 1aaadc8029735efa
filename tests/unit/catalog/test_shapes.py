"""Shapes and ownership: what a cloud would refuse is known before it is asked."""

from __future__ import annotations

from collections import Counter

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.ownership import OWNERSHIPS, Ownership, of_target
from infra.catalog.shapes import SHAPES, Shape
from infra.catalog.targets import TARGETS

EACH = pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)


@EACH
def test_a_shape_is_of_a_target_and_a_board_that_we_serve(shape: Shape) -> None:
    """Its host has as many CPUs and rails as it says, and the board's own GPUs."""
    board = shape.on_board()
    assert shape.target in TARGETS
    assert (board.gpu, board.gpus) == (BOARDS[shape.board].gpu, 4 if shape.board.startswith("nvl72") else 8)
    assert (board.cpus, board.rails, board.rail_gbit) == (shape.cpus, shape.rails, shape.rail_gbit)
    assert board.memory_gib < shape.memory_gib


@EACH
def test_no_two_interfaces_share_a_place(shape: Shape) -> None:
    """A card takes one interface at each device index."""
    assert max(Counter((nic.card, nic.device) for nic in shape.nics).values(), default=1) == 1


@EACH
def test_interfaces_of_the_fabric_are_its_rails(shape: Shape) -> None:
    """Where a launch declares them, their number and speed are what a pod can ask for."""
    found = [nic.gbit for nic in shape.nics if nic.is_fabric]
    assert not shape.nics or found == [shape.rail_gbit] * shape.rails


@pytest.mark.parametrize(
    ("name", "interfaces", "efas", "gbit"),
    [
        ("p5.48xlarge", 33, 32, 3_200),
        ("p5en.48xlarge", 17, 16, 3_200),
        ("p6-b200.48xlarge", 9, 8, 3_200),
        ("p6-b300.48xlarge", 17, 16, 6_400),
    ],
)
def test_hosts_of_aws_have_the_interfaces_that_they_launch_with(
    name: str, interfaces: int, efas: int, gbit: int
) -> None:
    """Card 0 begins with a plain interface; all others are EFAs at device 0, beside it at device 1."""
    nics = SHAPES[name].nics
    assert (nics[0].card, nics[0].device, nics[0].kind) == (0, 0, "interface")
    assert len(nics) == interfaces
    assert sum(nic.gbit for nic in nics if nic.kind == "efa-only") == gbit
    assert {nic.device for nic in nics if nic.kind == "efa-only" and nic.card} == {0}
    assert len([nic for nic in nics if nic.kind == "efa-only"]) == efas


def test_card_0_of_p6_b300_takes_no_efa() -> None:
    """One on it refuses the launch (aws-parallelcluster#7143)."""
    assert [nic.kind for nic in SHAPES["p6-b300.48xlarge"].nics if nic.card == 0] == ["interface"]


def test_tcpxo_has_its_eight_networks_and_no_other() -> None:
    """A plain network more takes the PCI slot of a GPU's, and seven of eight GPUs are left."""
    assert [nic.kind for nic in SHAPES["a3-megagpu-8g"].nics] == ["gpu-nic"] * 8


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_says_who_owns_the_driver(target: str) -> None:
    """Two owners would overwrite each other, none would leave the GPUs dark."""
    assert of_target(target)
    assert all("nobody" not in (row.driver, row.toolkit, row.device_plugin) for row in of_target(target))


@pytest.mark.parametrize("row", OWNERSHIPS.values(), ids=lambda row: row.name)
def test_an_operator_owns_only_where_it_may_be(row: Ownership) -> None:
    """What is given to an operator that is not installed would have no owner."""
    if not row.gpu_operator:
        assert "operator" not in (row.driver, row.toolkit, row.device_plugin)
    if not row.network_operator:
        assert row.ofed != "operator"
    assert (row.driver_root == "/run/nvidia/driver") == (row.driver == "operator")
