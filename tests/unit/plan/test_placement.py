"""Replicas land leaf by leaf, never on a spare host, never on more than there is."""

from __future__ import annotations

import pytest

from infra.config.pools import Pool
from infra.plan.placement import Want, host_name, place
from tests.unit.plan.specs import model_of


def _pool(hosts: int, spare: int = 0, per_leaf: int = 2) -> Pool:
    return Pool(board="hgx-h100", hosts=hosts, spare_hosts=spare, hosts_per_leaf=per_leaf)


@pytest.mark.parametrize(
    ("pool", "replicas", "per_host", "hosts", "leaves", "unplaced", "free"),
    [
        (_pool(4), 1, 8, 1, (0,), 0, 31),
        (_pool(4), 8, 8, 1, (0,), 0, 24),
        (_pool(4), 9, 8, 2, (0,), 0, 23),
        (_pool(4), 17, 8, 3, (0, 1), 0, 15),
        (_pool(4), 32, 8, 4, (0, 1), 0, 0),
        (_pool(4), 33, 8, 4, (0, 1), 1, 0),
        (_pool(4, spare=1), 4, 1, 3, (0, 1), 1, 0),
        (_pool(4), 4, 0, 0, (), 4, 0),
    ],
    ids=["one", "full host", "second host", "second leaf", "full pool", "one too many", "spare host", "none fits"],
)
def test_one_model_lands(
    pool: Pool, replicas: int, per_host: int, hosts: int, leaves: tuple[int, ...], unplaced: int, free: int
) -> None:
    """Hosts, leaves, what has no place and what is left over."""
    got = place(pool, {"a": Want(replicas, per_host)})["a"]
    assert (got.hosts, got.leaves, got.unplaced, got.free_replicas) == (hosts, leaves, unplaced, free)


def test_models_share_no_host() -> None:
    """The second model starts on the next whole host."""
    got = place(_pool(4), {"a": Want(1, 8), "b": Want(8, 4)})
    assert [(item.first_host, item.hosts) for item in got.values()] == [(0, 1), (1, 2)]


def test_free_hosts_are_room_for_each_model() -> None:
    """One empty host holds eight small replicas or two large ones."""
    got = place(_pool(3), {"a": Want(8, 8), "b": Want(2, 2)})
    assert {name: item.free_replicas for name, item in got.items()} == {"a": 8, "b": 2}


def test_placement_loses_no_replica() -> None:
    """Placed and unplaced replicas are all there are, whatever the sizes."""
    for replicas in range(1, 40):
        got = place(_pool(4, spare=1), {"a": Want(replicas, 8), "b": Want(replicas, 2)})
        for per_host, item in ((8, got["a"]), (2, got["b"])):
            assert 0 <= replicas - item.unplaced <= item.hosts * per_host
        assert sum(item.hosts for item in got.values()) <= 3


@pytest.mark.parametrize(
    ("hosts", "per_leaf", "groups", "first", "leaves", "unplaced", "free"),
    [
        (8, 4, 2, 0, (0,), 0, 2),
        (8, 4, 3, 0, (0, 1), 0, 1),
        (6, 3, 2, 0, (0, 1), 0, 0),
        (6, 3, 3, 0, (0, 1), 1, 0),
        (8, 1, 1, 0, (), 1, 0),
    ],
    ids=["one leaf", "second leaf", "a host of each leaf is left over", "no group over two leaves", "leaf too small"],
)
def test_a_group_is_on_one_leaf(
    hosts: int, per_leaf: int, groups: int, first: int, leaves: tuple[int, ...], unplaced: int, free: int
) -> None:
    """A replica on two hosts takes both of one leaf, or has no place."""
    got = place(_pool(hosts, per_leaf=per_leaf), {"a": Want(groups, 0, hosts=2)})["a"]
    assert (got.first_host, got.leaves, got.unplaced, got.free_replicas) == (first, leaves, unplaced, free)


def test_groups_are_placed_before_what_fits_anywhere() -> None:
    """A small model that is named first does not break up the only whole leaf."""
    got = place(_pool(4), {"small": Want(8, 8), "wide": Want(1, 0, hosts=2)})
    assert (got["wide"].leaves, got["small"].leaves) == ((0,), (1,))


def test_hosts_sort_by_index() -> None:
    """Names have as many digits as the largest pool needs."""
    assert [host_name("gpus", index) for index in (0, 12, 4095)] == ["gpus-0000", "gpus-0012", "gpus-4095"]


@pytest.mark.parametrize(
    ("changes", "per_host"),
    [
        ({"tensor_parallel": 1}, 8),
        ({"tensor_parallel": 4}, 2),
        ({"memory_gib": 500}, 4),
        ({"cpus": 50}, 4),
        ({"cpus": 25.2}, 8),
        ({"rdma_devices": 3}, 2),
    ],
    ids=["GPUs", "GPUs in groups", "memory", "CPUs", "exact share of CPUs", "rails"],
)
def test_the_scarcest_resource_of_a_host_decides(changes: dict[str, float], per_host: int) -> None:
    """What a pod asks for is what the scheduler counts, so the plan counts it too."""
    plan = model_of({f"models/chat/{key}": value for key, value in changes.items()})
    assert plan.placement.replicas_per_host == per_host


def test_two_models_share_a_host_without_gpus() -> None:
    """A second model fits beside the first on the one lab host, and room is counted for both."""
    placed = place(Pool(board="lab-host", hosts=1), {"tiny": Want(1, 3), "tiny-2": Want(1, 3)}, shared=True)
    assert [(item.first_host, item.hosts, item.unplaced) for item in placed.values()] == [(0, 1, 0), (0, 1, 0)]
    assert [item.free_replicas for item in placed.values()] == [1, 1]
