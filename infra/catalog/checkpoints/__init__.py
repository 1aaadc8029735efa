"""Checkpoints that are known by name: the fields of their configs that a plan reads, with where they are from."""

from __future__ import annotations

from infra.catalog.checkpoints.shelf import CHECKPOINTS, checkpoint

__all__ = ["CHECKPOINTS", "checkpoint"]
