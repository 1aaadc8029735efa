"""Shapes: what the clouds sell, by the cloud's own full name; a family such as ``p6`` names nothing that exists."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.shapes import aws, azure, coreweave, gcp, oci
from infra.catalog.shapes.shape import Capacity, Fabric, Nic, Quota, Shape

SHAPES: Mapping[str, Shape] = {
    shape.name: shape for cloud in (aws, azure, coreweave, gcp, oci) for shape in cloud.SHAPES
}
"""By name."""

__all__ = ["SHAPES", "Capacity", "Fabric", "Nic", "Quota", "Shape"]
