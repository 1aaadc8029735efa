"""Timings: figures with their history, never assertions."""
