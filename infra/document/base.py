"""What all parts of a published document share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """Base of all parts: nothing in them that the schema does not have, and their docstrings are in it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
