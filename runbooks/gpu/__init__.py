"""Runbooks for GPUs."""
