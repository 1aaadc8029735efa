"""How long prompts and answers are: one number, or how the numbers are spread."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

LONGEST = 1_000_000
"""Most tokens that a length may name (tokens). Source: the longest context that the catalogue knows, rounded up."""

SPREADS = "32, uniform:16:64, lognormal:200:0.6 (median and sigma; a third number is the most), or file:PATH"
"""How lengths are written."""


class LengthSpread(BaseModel):
    """Lengths in tokens, each drawn by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["constant", "uniform", "lognormal", "file"]
    low: Annotated[int, Field(ge=1, le=LONGEST)] = 1
    """Least (tokens); of ``constant`` the value."""
    high: Annotated[int, Field(ge=1, le=LONGEST)] = LONGEST
    """Most (tokens)."""
    sigma: Annotated[float, Field(ge=0, le=4, allow_inf_nan=False)] = 0.0
    """Standard deviation of the natural logarithm, of ``lognormal``."""
    median: Annotated[int, Field(ge=1, le=LONGEST)] = 1
    """Middle of ``lognormal`` (tokens)."""
    values: tuple[Annotated[int, Field(ge=1, le=LONGEST)], ...] = ()
    """What ``file`` held; each is as likely as it is frequent."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"{self.low} to {self.high} holds no number; write the lesser first")
        if self.kind == "file" and not self.values:
            raise ValueError("a file without a length; write one whole number a line")
        return self

    @classmethod
    def of(cls, text: str) -> Self:
        """Read it as people write it.

        Raises:
            ValueError: it is none of what is allowed.
        """
        kind, _, rest = text.partition(":")
        if kind == "file":
            return cls(kind="file", values=_from_file(Path(rest)))
        words = rest.split(":")
        try:
            if kind == "uniform":
                low, high = (int(word) for word in words)
                return cls(kind="uniform", low=low, high=high)
            if kind == "lognormal":
                most = int(words[2]) if len(words) == 3 else LONGEST
                return cls(kind="lognormal", median=int(words[0]), sigma=float(words[1]), high=most)
            return cls(kind="constant", low=int(text), high=int(text))
        except ValidationError as error:
            found = error.errors(include_url=False)[0]
            raise ValueError(
                f"not allowed: {found['msg'].removeprefix('Value error, ').removeprefix('Input ')}"
            ) from error
        except (IndexError, ValueError) as error:
            raise ValueError(f"no length; write {SPREADS}") from error

    def draw(self, rng: random.Random) -> int:
        """Draw one length (tokens)."""
        if self.kind == "uniform":
            return rng.randint(self.low, self.high)
        if self.kind == "lognormal":
            drawn = round(math.exp(rng.gauss(math.log(self.median), self.sigma)))
            return min(max(drawn, self.low), self.high)
        return rng.choice(self.values) if self.kind == "file" else self.low

    @property
    def most(self) -> int:
        """Longest that can be drawn (tokens)."""
        return max(self.values) if self.kind == "file" else self.high

    def __str__(self) -> str:
        most = f":{self.high}" if self.high < LONGEST else ""
        return {
            "constant": str(self.low),
            "uniform": f"uniform:{self.low}:{self.high}",
            "lognormal": f"lognormal:{self.median}:{self.sigma:g}{most}",
            "file": f"file of {len(self.values)} lengths",
        }[self.kind]


def _from_file(path: Path) -> tuple[int, ...]:
    try:
        return tuple(int(line) for line in path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise ValueError(f"not readable ({error.strerror}); name a file that is") from error
    except ValueError as error:
        raise ValueError("a file with more than whole numbers; write one a line") from error


def _read(value: Any) -> Any:
    return LengthSpread.of(str(value)) if isinstance(value, str | int) else value


Lengths = Annotated[LengthSpread, BeforeValidator(_read)]
"""A field that holds lengths, written as text or as a number."""
