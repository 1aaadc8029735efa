"""The one gate of all writes: dry runs say what they would do, and a step that only reads cannot write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import ConfigError

if TYPE_CHECKING:
    from runbooks.engine.context import Context


def may(ctx: Context, doing: str) -> bool:
    """Tell whether to go on and write; a dry run is told what would be done.

    Args:
        doing: what is about to happen, such as ``delete pod models/tiny-0``.
    Raises:
        ConfigError: the run is not dry, yet its present step is declared to read only.
    """
    if ctx.may_write:
        return True
    if not ctx.dry:
        raise ConfigError(f"{doing} — asked for outside a step that writes — declare the step with writes=True")
    ctx.would(doing)
    return False


@dataclass(frozen=True, slots=True)
class Result:
    """What a command came to."""

    rc: int
    stdout: str
    stderr: str

    @property
    def is_ok(self) -> bool:
        """Whether it ended with 0."""
        return self.rc == 0
