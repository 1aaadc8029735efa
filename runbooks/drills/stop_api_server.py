"""Stop the API server for a minute: what serves goes on serving."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from runbooks.drills._parts import SOON, StopService
from runbooks.lib.drill.claims import Expects


class StopApiServer(StopService):
    """Stop the API server for a minute: what serves goes on serving."""

    service: ClassVar[str] = "kube-apiserver"
    expects: ClassVar[Expects | None] = Expects(
        "ApiServerDown", SOON, "cluster/restore_control_plane", "kube-apiserver does not run"
    )
    may: ClassVar[Mapping[str, str]] = {"MetricsAbsent": "what is known of hosts and pods comes from the API server"}
    lasts: ClassVar[timedelta] = timedelta(seconds=60)
    # Programs that end without an API server, such as kube-state-metrics, are started again later and later.
    recovers_within: ClassVar[timedelta] = timedelta(minutes=5)
