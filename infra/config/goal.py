"""Goals: what a model must hold, from which the cheapest way to run it follows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen

Tokens = Annotated[int, Field(ge=1)]


class Goal(Frozen):
    """Load that all replicas of a model hold together, and how fast they answer under it."""

    prompt: Tokens
    """Prompt of a usual request (tokens)."""
    output: Tokens
    """Answer to it (tokens)."""
    concurrency: Annotated[int, Field(ge=1)]
    """Requests at once (count)."""
    first_token_s: Annotated[float, Field(gt=0)] | None = None
    """Longest mean wait for the first token (seconds)."""
    token_s: Annotated[float, Field(gt=0)] | None = None
    """Longest mean wait for each further token (seconds)."""
    tokens_per_s: Annotated[float, Field(gt=0)] | None = None
    """Tokens that must be answered (tokens per second)."""

    @property
    def length(self) -> int:
        """Prompt and answer together (tokens)."""
        return self.prompt + self.output
