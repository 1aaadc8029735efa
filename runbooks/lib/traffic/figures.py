"""Figures of a set of requests; percentiles are exact, of every sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runbooks.lib.traffic.verdict import COMPLETE, FAILED, Sample, Verdict

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
"""Percentiles of each spread (%)."""

DEFINITIONS: Mapping[str, str] = {
    "ttft": "from when the request was due to the first piece with a token (a piece with only the role is none)",
    "tpot": "(E2E − TTFT) / (output tokens − 1): without the first token",
    "itl": "between pieces of a stream with tokens; a piece may hold several",
    "e2e": "from when the request was due to the end of the answer",
    "tokens_per_second": "output tokens of complete answers, by the server's count, over the time looked at",
}
"""What each figure means; all are of complete answers (ok and late)."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How values are spread (s)."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    largest: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What a set of requests was like."""

    seconds: float
    """Time looked at (s)."""
    requests: int
    """Requests whose fate is known (count)."""
    counts: dict[Verdict, int]
    tokens: int
    """Output tokens of complete answers."""
    prompt_tokens: int
    """Prompt tokens of complete answers, by the server's count."""
    ttft: Spread | None
    tpot: Spread | None
    itl: Spread | None
    e2e: Spread | None
    """Each None where there is no sample: no figure, not zero."""

    @property
    def failed(self) -> int:
        """Requests that were lost, cut or wrong."""
        return sum(self.counts[verdict] for verdict in FAILED)

    @property
    def complete(self) -> int:
        """Requests with a whole and right answer."""
        return sum(self.counts[verdict] for verdict in COMPLETE)

    @property
    def tokens_per_second(self) -> float:
        """Output tokens of complete answers per second."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def requests_per_second(self) -> float:
        """Complete answers per second."""
        return self.complete / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {
            "failed": self.failed,
            "complete": self.complete,
            "tokens_per_second": self.tokens_per_second,
            "requests_per_second": self.requests_per_second,
        }


def figures_of(samples: Iterable[Sample], seconds: float) -> Figures:
    """Sum up requests.

    Args:
        samples: requests whose fate is known.
        seconds: time they are from (s).
    """
    known = list(samples)
    complete = [sample for sample in known if sample.verdict in COMPLETE]
    return Figures(
        seconds=seconds,
        requests=len(known),
        counts={verdict: sum(sample.verdict is verdict for sample in known) for verdict in Verdict},
        tokens=sum(sample.tokens for sample in complete),
        prompt_tokens=sum(sample.prompt_tokens for sample in complete),
        ttft=spread([sample.first_token for sample in complete if sample.first_token is not None]),
        tpot=spread([value for sample in complete if (value := sample.per_token) is not None]),
        itl=spread([sample.gaps for sample in complete if sample.gaps], is_nested=True),
        e2e=spread([sample.whole for sample in complete]),
    )


def spread(values: Sequence[Any], *, is_nested: bool = False) -> Spread | None:
    """Sum up values (s); None if there are none.

    Percentiles are interpolated between neighbours, as numpy and with it `vllm bench serve` does.
    """
    if not values:
        return None
    # Numpy takes 0.1 s to import and sorts the gaps of ten million tokens in a second.
    import numpy as np

    flat = [np.frombuffer(value, dtype=np.float32) for value in values] if is_nested else [np.array(values)]
    array = np.concatenate(flat)
    p50, p90, p95, p99, p999 = (float(rank) for rank in np.percentile(array, PERCENTILES))
    return Spread(len(array), float(array.mean()), p50, p90, p95, p99, p999, float(array.max()))
