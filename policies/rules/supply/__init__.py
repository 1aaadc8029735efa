"""Rules about what code gets in."""
