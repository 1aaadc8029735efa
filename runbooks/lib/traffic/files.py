"""How many connections this process may hold open."""

from __future__ import annotations

import resource

RESERVE = 256
"""Files that the rest of the process may need (count)."""


def allow_open(connections: int) -> str:
    """Raise this process's own limit as far as it may; what is wrong if that is not enough, else empty."""
    wanted = connections + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return ""
    return (
        f"traffic — up to {connections} requests may be open at once (rate × timeout), this process may open "
        f"{hard} files — lower the rate or the timeout, or raise `ulimit -Hn`"
    )
