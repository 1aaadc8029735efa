"""What every drill does around its fault: steady state, alert, answer, recovery, and the proof that nothing is left."""
