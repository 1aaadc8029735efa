"""Runbooks for the control plane."""
