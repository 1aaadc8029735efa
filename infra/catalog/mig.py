"""MIG: into which parts each GPU can be split, by the names that the MIG manager knows."""

from __future__ import annotations

from collections.abc import Mapping

DISABLED = "all-disabled"
"""Profile of a GPU that stays whole."""

_A100_H100 = {"1g.10gb": 7, "1g.10gb.me": 1, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}

INSTANCES: Mapping[str, Mapping[str, int]] = {
    "b300": {"1g.34gb": 7, "1g.34gb.me": 1, "1g.67gb": 4, "2g.67gb": 3, "3g.135gb": 2, "4g.135gb": 1, "7g.269gb": 1},
    "gb300": {"1g.35gb": 7, "1g.35gb.me": 1, "1g.70gb": 4, "2g.70gb": 3, "3g.139gb": 2, "4g.139gb": 1, "7g.278gb": 1},
    "b200": {"1g.23gb": 7, "1g.23gb.me": 1, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1},
    "gb200": {"1g.23gb": 7, "1g.23gb.me": 1, "1g.47gb": 4, "2g.47gb": 3, "3g.93gb": 2, "4g.93gb": 1, "7g.186gb": 1},
    "h200": {"1g.18gb": 7, "1g.18gb.me": 1, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1},
    "h100": _A100_H100,
    "a100": _A100_H100,
    "a30": {"1g.6gb": 4, "1g.6gb.me": 1, "2g.12gb": 2, "2g.12gb.me": 1, "4g.24gb": 1},
}
"""GPU to each kind of instance with how many of it one GPU gives. A GPU without an entry is not split.

Source: gpu-operator v26.7.0, assets/state-mig-manager/0400_configmap.yaml; held equal by a test.
"""

BALANCED: Mapping[str, int] = {"b300": 4, "gb300": 4, "b200": 4, "gb200": 4, "h200": 4, "h100": 4, "a100": 4, "a30": 3}
"""GPU to the instances of ``all-balanced`` (count). Source: as above."""


def profiles_of(gpu: str) -> tuple[str, ...]:
    """Names of the profiles that a GPU takes, the whole one first."""
    split = tuple(f"all-{kind}" for kind in INSTANCES.get(gpu, ()))
    return (DISABLED, *split, *(("all-balanced",) if gpu in BALANCED else ()))
