"""What the plan says, for people."""
