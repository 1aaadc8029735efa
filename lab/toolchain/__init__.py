"""The lab's programs: pinned, found on PATH or built from Go modules, and linked into one folder."""

from lab.toolchain.builds import build
from lab.toolchain.ensure import Event, ensure_all, link_all
from lab.toolchain.golang import go_binary, install_go
from lab.toolchain.search import Found, debian_packages, find
from lab.toolchain.table import GO_VERSION, TOOLS, Binary, Tool

__all__ = [
    "GO_VERSION",
    "TOOLS",
    "Binary",
    "Event",
    "Found",
    "Tool",
    "build",
    "debian_packages",
    "ensure_all",
    "find",
    "go_binary",
    "install_go",
    "link_all",
]
