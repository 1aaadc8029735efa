"""Stop the container runtime of a host and start it: containers live on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from runbooks.drills._parts import SOON, StopService
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.lib.drill.claims import Expects


class RestartContainerd(StopService):
    """Stop the container runtime of a host and start it: containers live on."""

    service: ClassVar[str] = "containerd-1"
    expects: ClassVar[Expects | None] = Expects(
        "ContainerRuntimeDown", SOON, "cluster/restore_control_plane", "containerd\\S* does not run"
    )
    may: ClassVar[Mapping[str, str]] = {"HostNotReady": "a kubelet without a runtime says so of its host"}

    class Inputs(EngineInputs):
        """Where."""

        host: str = "lab-1"
