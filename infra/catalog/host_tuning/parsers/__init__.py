"""From what a host said to what was found: one value of each place that says it, and never a guess."""
