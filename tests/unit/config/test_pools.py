"""Pools: one board, one fabric, and at least one host that serves."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from infra.catalog.boards import BOARDS
from infra.config.pools import BoardName, Pool


def test_every_board_of_the_catalog_can_be_named() -> None:
    """And no other: a name without a row would be a crash later."""
    assert set(get_args(BoardName)) == set(BOARDS)


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts": 1, "spare_hosts": 1},
        {"hosts": 2, "spare_hosts": 3},
        {"hosts": 0},
        {"hosts_per_leaf": 0},
        {"spare_hosts": -1},
    ],
    ids=["only spares", "more spares than hosts", "no host", "no leaf", "negative"],
)
def test_a_pool_that_serves_nobody_is_refused(changes: dict[str, int]) -> None:
    """At least one host is not a spare."""
    with pytest.raises(ValidationError):
        Pool.model_validate({"board": "hgx-b300", "hosts": 1} | changes)


@pytest.mark.parametrize("fabric", ["roce", "infiniband"])
def test_a_board_without_rails_has_no_fabric(fabric: Any) -> None:
    """A fabric needs NICs."""
    with pytest.raises(ValidationError, match="no rails"):
        Pool(board="lab-host", hosts=1, fabric=fabric)


@pytest.mark.parametrize("labels", [{"a": "b" * 64}, {"a": "-b"}, {"": "b"}, {"a/b/c": "d"}, {"A.b/c": "d"}], ids=str)
def test_labels_are_what_kubernetes_takes(labels: dict[str, str]) -> None:
    """Told now, not by the kubelet that refuses to start with them."""
    with pytest.raises(ValidationError, match="labels"):
        Pool(board="hgx-b300", hosts=1, labels=labels)


@pytest.mark.parametrize(
    "labels", [{"a": ""}, {"example.com/row": "A_1.b"}, {"x" * 63: "y" * 63}], ids=["empty", "prefix", "longest"]
)
def test_labels_at_their_limits_pass(labels: dict[str, str]) -> None:
    """What Kubernetes takes, we take."""
    assert Pool(board="hgx-b300", hosts=1, labels=labels).labels == labels
