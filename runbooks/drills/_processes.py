"""Processes of a container, found on its host by the pod they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod

FIND = r"""grep -ls "$0" /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3 | while read -r pid; do
  tr '\0' ' ' < "/proc/$pid/cmdline" 2>/dev/null | grep -q "$1" && echo "$pid"; done; true"""
"""Shell words: ids of processes whose cgroup names the pod and whose command line matches."""


def processes(ctx: Context, pod: Pod, pattern: str) -> list[int]:
    """Process ids on the pod's host, lowest first.

    Raises:
        ConfigError: there are none.
    """
    found = clients.of(ctx).hosts.ask(pod.host, ["sh", "-c", FIND, pod.uid, pattern]).stdout.split()
    if not found:
        raise ConfigError(f"pod {pod.name!r} — no process like {pattern!r} on host {pod.host!r} — is it running?")
    return sorted(map(int, found))
