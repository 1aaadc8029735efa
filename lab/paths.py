"""Where the lab keeps things; the only module of the lab that reads the environment."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def repo_root() -> Path:
    """Folder of this clone, the one that holds ``Pulumi.yaml``."""
    return Path(__file__).resolve().parents[1]


def state_dir() -> Path:
    """Folder of everything that this clone's lab writes; git ignores it."""
    return repo_root() / ".lab"


def bin_dir() -> Path:
    """Folder of links to the tools that this lab built or installed."""
    return state_dir() / "bin"


def cache_dir() -> Path:
    """Folder of long builds, shared by all clones and keyed by version."""
    if chosen := os.environ.get("RAILWRIGHT_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "railwright"


def lab_id(root: Path | None = None) -> str:
    """Eight hex digits that name the lab of one clone, stable as long as the clone stays where it is."""
    return hashlib.sha256(str(root or repo_root()).encode()).hexdigest()[:8]


def search_path() -> str:
    """The caller's PATH, for finding tools that are already installed."""
    return os.environ.get("PATH", os.defpath)
