"""Start-up logs of engines, held against the plan."""
