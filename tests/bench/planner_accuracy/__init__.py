"""How right the planner is, measured on public logs and benchmarks."""
