"""Words of a command line: what is read apart from any runbook, so that little is imported for it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import NoReturn

from infra.errors import ConfigError


class Parser(argparse.ArgumentParser):
    """Raises what it finds instead of leaving, so that all mistakes are told together."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise ConfigError(f"{self.prog} — {message} — see `{self.prog} --help`")


def flag(name: str) -> str:
    """Name the option of an input."""
    return f"--{name.replace('_', '-')}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Name the known word that was probably meant, or list what is known."""
    import difflib

    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(choices) or 'none'}"
