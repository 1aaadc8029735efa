"""Runbooks for NICs, rails and leaves."""
