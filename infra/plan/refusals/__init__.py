"""Refusals: what is certain to fail, found before anything is touched; one module per area."""
