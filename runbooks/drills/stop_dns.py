"""Stop cluster DNS: replicas that are known stay known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from runbooks.drills._parts import SOON, StopService
from runbooks.lib.drill.claims import Expects


class StopDns(StopService):
    """Stop cluster DNS: replicas that are known stay known."""

    service: ClassVar[str] = "coredns"
    expects: ClassVar[Expects | None] = Expects(
        "DnsDown", SOON, "cluster/restore_control_plane", "coredns does not run"
    )
    may: ClassVar[Mapping[str, str]] = {"MetricsAbsent": "DNS that is stopped reports nothing"}
    lasts: ClassVar[timedelta] = timedelta(seconds=20)
