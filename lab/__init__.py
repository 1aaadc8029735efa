"""The embedded default target: real parts, simulated hosts, one machine."""
