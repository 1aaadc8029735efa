"""What the GPU Operator cannot be told at once is told as one sentence each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plan.specs import read

SAID: dict[str, tuple[dict[str, Any], str]] = {
    "typo": ({"gdrcpy": True}, "gpu_operator.gdrcpy: no such key; did you mean 'gdrcopy'?"),
    "NRI without CDI": ({"nri": True, "cdi": False}, "gpu_operator: nri without cdi; the NRI plugin hands out CDI"),
    "settings of another's": (
        {"operator": "existing", "gds": True, "dra": True},
        "gpu_operator: dra, gds with operator: existing; that one is not set from here, remove them or set operator",
    ),
    "ready made without branch": (
        {"driver": {"version": "595.91.07", "precompiled": True}},
        "gpu_operator.driver: precompiled with version='595.91.07'; such images are named by their branch",
    ),
    "branch of a built driver": (
        {"driver": {"version": "595"}},
        "gpu_operator.driver: version='595' is a branch; write a whole version such as 595.91.07, or set precompiled",
    ),
    "ready made with modules": (
        {"driver": {"version": "595", "precompiled": True}, "gds": True},
        "gpu_operator: precompiled with gds or gdrcopy; their modules are built on the host",
    ),
    "no version": (
        {"driver": {"version": "latest"}},
        "gpu_operator.driver.version: 'latest' is not allowed; write a version of the driver such as 595.91.07",
    ),
    "no share": (
        {"upgrade": {"unavailable": "all"}},
        "gpu_operator.upgrade.unavailable: 'all' is not allowed; write a number of hosts such as 2, in quotes",
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_a_mistake_is_told_in_one_sentence(case: str) -> None:
    """With the key, what was found, what is allowed and what to do."""
    said, told = SAID[case]
    (found,) = read({"gpu_operator": said}).problems
    assert found.startswith(told)


@pytest.mark.parametrize("section", ["gpu_operator", "fabric"])
@pytest.mark.parametrize("mirror", ["https://mirror", "mirror.example.com:nvidia", "Mirror/nvidia", "", "mirror/a:v1"])
def test_a_mirror_is_one_thing_wherever_it_stands(section: str, mirror: str) -> None:
    """A folder of a registry; a fabric took half an address for one, and did not say what it wants in words."""
    (found,) = read({section: {"registry": mirror}}).problems
    assert found.startswith(f"{section}.registry: {mirror!r} is not allowed; write a folder of a registry such as")


def test_three_mistakes_of_three_parts_are_told_at_once() -> None:
    """In pools, charts and the operator."""
    changes = {
        "gpu_operator": {"gdrcpy": True},
        "pools/gpus/gpu_operator": {"mgi": "all-disabled"},
        "charts": {"gpu-operator": {"sha256": "abc"}},
    }
    assert sorted(found.split(";")[0] for found in read(changes).problems) == [
        "charts.gpu-operator.sha256: 'abc' is not allowed",
        "gpu_operator.gdrcpy: no such key",
        "pools.gpus.gpu_operator.mgi: no such key",
    ]
