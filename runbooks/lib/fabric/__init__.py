"""Cables of an InfiniBand fabric: what its tools see, held against the hosts that the inventory lists."""
