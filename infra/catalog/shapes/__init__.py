"""Shapes: what the clouds sell, by the cloud's own full name; a family such as ``p6`` names nothing that exists."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.shapes import aws, gcp, others
from infra.catalog.shapes.shape import Capacity, Fabric, Nic, Shape

SHAPES: Mapping[str, Shape] = {shape.name: shape for shape in (*aws.SHAPES, *gcp.SHAPES, *others.SHAPES)}
"""By name."""

__all__ = ["SHAPES", "Capacity", "Fabric", "Nic", "Shape"]
