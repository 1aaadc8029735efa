"""What every runbook gets: plan, lock, journal, undo, audit; it knows no cluster."""
