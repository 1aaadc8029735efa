"""Prometheus rules of a stack, rendered from the catalogues."""

from infra.plan.rules.groups import Group, rules

__all__ = ["Group", "rules"]
