"""Hosts that are out for a purpose: one reason on the cordon, from the drain to the return, whoever runs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Runbook, Target
from runbooks.lib import clients
from runbooks.lib.diagnosis import given
from runbooks.lib.diagnosis.hosts import meant

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

WHY = "railwright.dev/held-because"
"""Annotation on a host: why it did not come back, for people."""


class OutInputs(EngineInputs):
    """Which host, and for what it is out."""

    host: str = Field(description="host")
    purpose: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}$",
        description="what it is out for, such as tune; the cordon bears it, and only the same purpose takes it away",
    )


class OutForPurpose(Runbook):
    """A runbook on one host that is out, or going out, for a purpose."""

    answers = ()
    lock = "{stack}/host/{host}"

    class Inputs(OutInputs):
        """Which host, and for what it is out."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The host.

        Raises:
            ConfigError: there is none of this name.
        """
        return [Target("host", host.name) for host in meant(ctx)]


def reason(ctx: Context) -> str:
    """The reason that the cordon bears."""
    return f"play/{given(ctx).purpose}"


def host(ctx: Context) -> Host:
    """The host as it is now."""
    return clients.of(ctx).kube.hosts.get(given(ctx).host)


def is_out(ctx: Context) -> bool:
    """Whether it is cordoned for this purpose."""
    found = host(ctx)
    return found.cordoned and reason(ctx) in found.cordoned_by
