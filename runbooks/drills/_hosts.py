"""Choosing a real host to hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context


def real_host(ctx: Context) -> str:
    """The host that the inputs name, or the last real one by name.

    Raises:
        ConfigError: there is none, or the name is of none.
    """
    real = sorted(host.name for host in clients.of(ctx).kube.hosts.list() if not host.simulated)
    if not real:
        raise ConfigError("host — this stack has no real one — run the drill where there is")
    name = ctx.inputs.host or real[-1]  # type: ignore[attr-defined]  # a drill on hosts has this input
    if name not in real:
        raise ConfigError(f"host {name!r} — is no real host of this stack — choose one of {', '.join(real)}")
    return str(name)
