"""Images without a registry: built here, packed as OCI layouts, imported into the lab's containerd."""

from lab.images.build import ensure, load

__all__ = ["ensure", "load"]
