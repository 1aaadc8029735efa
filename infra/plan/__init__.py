"""Pure computation from spec to plan; no input or output."""
