"""Acceptance tests of hosts: what they printed, held against the figures of the board, with the fault by name."""
