"""The rules, one per file, by area."""
