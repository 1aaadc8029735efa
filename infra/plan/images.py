"""Images: from a name to the digest that the lock knows."""

from __future__ import annotations

from collections.abc import Mapping


def with_digest(image: str, digests: Mapping[str, str]) -> str:
    """Complete an image name by its digest from the lock; leave every other reference alone."""
    return f"{image}@{digests[image]}" if image in digests else image
