"""Kubernetes objects of a plan, as plain data."""
