"""Runbooks for hosts."""
