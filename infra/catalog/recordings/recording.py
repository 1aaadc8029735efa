"""What one recording rule is, and the few shapes that its expressions share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
"""Operation in a name → the quantile."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One series that Prometheus computes, named ``level:metric:operation``.

    ``<5m>`` in an expression stands for a window of five minutes at pace 1, ``<5m:s>`` for its seconds, and
    ``<name>`` for a figure of the plan.
    """

    name: str
    expr: str
    says: str
    """What it is, with its unit; for readers and panels."""


def grown(counter: str, window: str) -> str:
    """Count what was added within a window, also by series that were born in it.

    ``increase`` needs a first sample to subtract, and the first sample of a counter that appears with its first
    failure already holds it. Such a series counts from zero, if its target was being scraped before.
    """
    born = f"({counter} unless {counter} offset {window} and on (namespace, pod) up offset {window})"
    return f"({born} or increase({counter}[{window}]))"


def quantiles(name: str, buckets: str, by: str, says: str, scale: str = "") -> Iterator[Recording]:
    """Yield P50, P95 and P99 of a histogram; without observations there is no series, rather than NaN."""
    for operation, quantile in QUANTILES.items():
        value = f"histogram_quantile({quantile}, sum by ({by}, le) (rate({buckets}[<5m>]))){scale} >= 0"
        yield Recording(f"{name}:{operation}", value, f"{operation.upper()} of {says}")


def renamed(inner: str, target: str, source: str, pattern: str = "(.+)") -> str:
    """Copy a label under the name that we use everywhere."""
    return f'label_replace({inner}, "{target}", "$1", "{source}", "{pattern}")'
