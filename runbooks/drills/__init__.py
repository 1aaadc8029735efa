"""Faults made on purpose: what must hold, which alert must fire, which runbook must answer."""
