"""The three ways in which Railwright says no; every message is one sentence with the fix in it."""

from __future__ import annotations


class RailwrightError(Exception):
    """Base of all errors that a user is meant to read; never raised itself."""


class ConfigError(RailwrightError):
    """What was asked for is refused, and nothing was touched.

    Args:
        problems: one sentence each: who, what was found, what is allowed, what to do.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class CheckError(RailwrightError):
    """Something was written, read back, and found different."""


class Unknown(RailwrightError):  # noqa: N818  not an error of anyone: the answer itself
    """The answer cannot be told from here; treat it as a failure, never as a pass."""
