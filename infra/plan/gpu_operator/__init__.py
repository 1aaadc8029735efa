"""The GPU Operator: its values, drivers of pools, and what is waited for."""
