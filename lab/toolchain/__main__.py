"""Have tools and say where each comes from: ``python -m lab.toolchain [NAME...]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from infra.errors import ConfigError, RailwrightError
from lab import paths
from lab.toolchain.ensure import Event, ensure_all, link_all
from lab.toolchain.golang import go_binary, install_go
from lab.toolchain.table import TOOLS, Tool


def chosen(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools of the given names; when none is given, all that `lab up` builds.

    Raises:
        ConfigError: a name is not that of a tool.
    """
    known = {tool.name for tool in TOOLS}
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"toolchain — no tool is called {unknown[0]!r} — choose from {', '.join(sorted(known))}")
    return tuple(tool for tool in TOOLS if tool.name in names or not (names or tool.on_request))


def show(event: Event) -> None:
    """Print a line when a tool starts or ends."""
    if event.state != "building" or event.detail == "starting":
        print(f"{event.tool:<28} {event.state:<9} {event.seconds:7.1f} s  {event.detail}", flush=True)


def main(names: Sequence[str]) -> int:
    """Build what is missing among the named tools, link them, and report."""
    logs = paths.state_dir() / "logs" / "tools"
    try:
        tools = chosen(names)
        if go_binary() is None:
            install_go(logs / "go.log", print)
        link_all(tools, ensure_all(tools, logs, show), paths.bin_dir())
    except RailwrightError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
