"""Images without a registry: built here, packed as OCI layouts, imported into the lab's containerd."""

from lab.images.build import ensure, is_ready, load

__all__ = ["ensure", "is_ready", "load"]
