"""Runbooks for models and their engines."""
