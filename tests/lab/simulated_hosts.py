"""The two simulated hosts that the lab's stack leaves empty, for tests that act on hosts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.cluster.lab import Lab
from tests.lab.living_lab import get

HOST, OTHER = "h200-0000", "h200-0001"
"""Their names."""


@contextmanager
def left_as_found(lab: Lab) -> Iterator[None]:
    """See that both hosts are as they were."""
    before = [_marks(lab, name) for name in (HOST, OTHER)]
    yield
    # The taint of a cordon goes after the cordon, when the controller-manager comes to it.
    end = time.monotonic() + 30
    while (after := [_marks(lab, name) for name in (HOST, OTHER)]) != before and time.monotonic() < end:
        time.sleep(0.5)
    assert after == before


def _marks(lab: Lab, name: str) -> Any:
    node = get(lab, "node", name)
    notes = {key: value for key, value in node["metadata"]["annotations"].items() if "stamp" not in key}
    return node["spec"], notes, node["metadata"]["labels"]
