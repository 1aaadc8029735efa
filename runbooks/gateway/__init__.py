"""Runbooks for the gateway."""
