"""Limits of sessions: who else sets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


class FilterModule:
    """The filter of this file, as Ansible looks for it."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """By name."""
        return {"limit_rivals": limit_rivals}


def limit_rivals(limits: Mapping[str, Any], lines: Iterable[str], own: str) -> list[str]:
    """Files of limits.d that come after ours and undo it, a sentence each; limits.conf comes before all of them.

    Args:
        lines: ``path:line`` of each line that names a limit, as ``grep -H`` prints it.
    Source: pam_limits(8), limits.conf(5): ``<domain> <type> <item> <value>``.
    """
    found = []
    for path, _, line in (line.partition(":") for line in lines):
        columns = line.partition("#")[0].split()
        if len(columns) != 4 or columns[0] not in ("*", "root") or columns[2] not in limits:
            continue
        if path > own and path != "/etc/security/limits.conf" and columns[3] != str(limits[columns[2]]):
            wanted = f"{own} sets it to {limits[columns[2]]}"
            found.append(f"{path} sets {columns[2]} of {columns[0]} to {columns[3]}, and {wanted}")
    return found
