"""How many connections this process may hold open."""

from __future__ import annotations

import resource

RESERVE = 256
"""Files that the rest of the process may need (count)."""


def allow_open(connections: int) -> str:
    """Raise this process's own limit as far as it may; what is wrong if that is not enough, else empty."""
    wanted = connections + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        return (
            f"traffic — up to {connections} requests may be open at once (rate × timeout), this process may open "
            f"{hard} files — lower the rate or the timeout, or raise `ulimit -Hn`"
        )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return ""
