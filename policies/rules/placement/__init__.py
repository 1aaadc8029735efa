"""Rules about where pods can land."""
