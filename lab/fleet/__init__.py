"""Simulated hosts: a NodePool becomes as many KWOK nodes as it says, stamped from its template."""
