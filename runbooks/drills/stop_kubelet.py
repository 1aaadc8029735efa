"""Stop the kubelet of a real host: its pods go on serving, and the host is reported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from runbooks.drills._parts import StopService
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.lib.drill.claims import Expects


class StopKubelet(StopService):
    """Stop the kubelet of a real host: its pods go on serving, and the host is reported."""

    service: ClassVar[str] = "kubelet-1"
    expects: ClassVar[Expects | None] = Expects(
        "HostNotReady",
        timedelta(seconds=150),
        "host/recover_host",
        "kubelet",
        labels={"host": "lab-1"},
        also=("PrometheusTargetDown",),
    )
    may: ClassVar[Mapping[str, str]] = {"MetricsAbsent": "a kubelet that is stopped reports nothing"}

    class Inputs(EngineInputs):
        """Where."""

        host: str = "lab-1"
