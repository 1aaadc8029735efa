"""InfiniBand fabric of the lab: hosts, rails and leaves of a stack, simulated, with a real subnet manager on it."""
