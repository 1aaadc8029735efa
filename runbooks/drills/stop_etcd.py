"""Stop etcd: the API server cannot answer, and what serves goes on serving."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from runbooks.drills._parts import SOON, StopService
from runbooks.lib.drill.claims import Expects


class StopEtcd(StopService):
    """Stop etcd: the API server cannot answer, and what serves goes on serving."""

    service: ClassVar[str] = "etcd"
    expects: ClassVar[Expects | None] = Expects("EtcdDown", SOON, "cluster/restore_control_plane", "etcd does not run")
    may: ClassVar[Mapping[str, str]] = {
        "ApiServerDown": "without etcd it cannot answer",
        "MetricsAbsent": "what is known of hosts and pods comes from etcd",
    }
    lasts: ClassVar[timedelta] = timedelta(seconds=30)
