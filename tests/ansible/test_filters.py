"""The filters of the playbooks: which variables are wrong, which hosts contradict each other, how plays are cut."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "ansible/playbooks/filter_plugins"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VALIDATE, BATCHES = load("validate"), load("batches")
OPTIONS: dict[str, dict[str, Any]] = {
    "rdma_mtu": {"type": "int"},
    "rdma_fabric": {"type": "str", "choices": ["roce", "none"]},
    "rdma_token": {"type": "str"},
    "rdma_rails": {"type": "list", "elements": "dict"},
    "rdma_version": {"type": "str", "required": True},
}
MISFITS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "right": ({"rdma_mtu": 4200, "rdma_fabric": "roce"}, []),
    "a number from a command line": ({"rdma_mtu": "4200"}, []),
    "unknown": ({"rdma_fabrik": "roce"}, ["rdma_fabrik — is no variable of role rdma — did you mean rdma_fabric?"]),
    "no number": ({"rdma_mtu": "big"}, ["rdma_mtu — "]),
    "truth for a number": ({"rdma_mtu": True}, ["rdma_mtu — is true: YAML read yes or no"]),
    "YAML's off": ({"rdma_fabric": False}, ["rdma_fabric — is false: YAML read yes or no"]),
    "no choice": ({"rdma_fabric": "efa"}, ["rdma_fabric — value of rdma_fabric must be one of: roce, none, got: efa"]),
    "YAML's 1.30": ({"rdma_version": 1.3}, ["rdma_version — is 1.3: YAML read a number"]),
    "no list": ({"rdma_rails": 7}, ["rdma_rails — "]),
    "two at once": ({"rdma_mtu": "big", "rdma_rails": 7}, ["rdma_mtu — ", "rdma_rails — "]),
}


@pytest.mark.parametrize("case", MISFITS, ids=str)
def test_what_a_role_would_not_take_is_told(case: str) -> None:
    """All of it, each in a sentence that begins with the variable."""
    given, wanted = MISFITS[case]
    found = VALIDATE.misfits({"rdma_version": "1", **given}, OPTIONS, "rdma")
    assert len(found) == len(wanted)
    assert [text for text, start in zip(found, wanted, strict=True) if not text.startswith(start)] == []


def test_what_a_role_needs_and_nobody_gives_is_told() -> None:
    """A required variable has no default to fall back on."""
    assert VALIDATE.misfits({}, OPTIONS, "rdma") == ["rdma_version — is missing — role rdma needs it — set it"]


@pytest.mark.parametrize("value", [4711, ["s3cret"]], ids=["number", "list"])
def test_a_secret_is_never_shown(value: Any) -> None:
    """Not even one of the wrong type."""
    found = VALIDATE.misfits({"rdma_version": "1", "rdma_token": value}, OPTIONS, "rdma")
    assert not [text for text in found if "4711" in text or "s3cret" in text]
    assert VALIDATE.public({"rdma_token": value, "rdma_mtu": 1}) == {"rdma_mtu": 1}


CONTRADICTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing": ({"ansible_host": "10.0.0.1"}, {"ansible_host": "10.0.0.2"}, ""),
    "one address": ({"ansible_host": "h"}, {"ansible_host": "h"}, "hosts a and b — share address h port 22"),
    "two ports": ({"ansible_host": "h", "ansible_port": 1}, {"ansible_host": "h", "ansible_port": 2}, ""),
    "one rail address": ({"rdma_rails": [{"address": "10.1.0.5/24"}]}, {"rdma_rails": [{"address": "10.1.0.5/16"}]},
                         "hosts a and b — share rail address 10.1.0.5"),
    "two MTUs": ({"rdma_mtu": 4200}, {"rdma_mtu": 9000}, "pool p — has rdma_mtu 4200 on a, 9000 on b"),
    "two fabrics": ({"host_fabric": "roce", "rdma_fabric": "none"}, {}, "host a — rdma_fabric is none"),
    "memory": ({"kubelet_memory_policy": "Static", "kubelet_reserved_memory": []}, {}, "host a — kubelet_memory"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTRADICTIONS, ids=str)
def test_hosts_that_contradict_each_other_are_told(case: str) -> None:
    """By name, with what they contradict each other about."""
    a, b, wanted = CONTRADICTIONS[case]
    found = VALIDATE.contradictions({"a": {"host_pool": "p", **a}, "b": {"host_pool": "p", **b}})
    assert [text.startswith(wanted) for text in found] == ([True] if wanted else [])


@pytest.mark.parametrize(
    ("at_once", "sizes"),
    [(1, [1, 1, 1, 1]), (2, [2, 1, 1]), ("2", [2, 1, 1]), (9, [3, 1])],
    ids=["one by one", "by two", "from a command line", "leaf by leaf"],
)
def test_no_batch_has_hosts_of_two_leaves(at_once: Any, sizes: list[int]) -> None:
    """Three hosts of one leaf and one of another, whatever the number allowed."""
    groups = {"all": list("abcd"), "batch_l0": list("abc"), "batch_l1": ["d"]}
    assert BATCHES.batches(groups, at_once) == sizes


@pytest.mark.parametrize("at_once", [0, -1, "many"])
def test_less_than_one_host_at_a_time_is_refused(at_once: Any) -> None:
    """No play would ever end."""
    with pytest.raises(ValueError, match=r"."):
        BATCHES.batches({"batch_l0": ["a"]}, at_once)
