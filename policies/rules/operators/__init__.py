"""Rules about operators: what each owns, and that it does not share it."""
