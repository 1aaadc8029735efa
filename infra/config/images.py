"""Images: digests by name, so that no stack ever says a mutable tag."""

from __future__ import annotations

from infra.config.base import Frozen


class Images(Frozen):
    """Where digests of images given by name alone are found."""

    lock: str = ""
    """JSON file {image name: digest}, relative to the clone; the lab and your mirror write one."""
