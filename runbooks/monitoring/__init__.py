"""Runbooks for metrics and alerts themselves."""
