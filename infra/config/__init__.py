"""The typed spec: pydantic models, one file per area."""
