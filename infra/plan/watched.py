"""What is watched, and what each model promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.catalog.prices import Price
from infra.config.observability import Observability


@dataclass(frozen=True, slots=True)
class Objectives:
    """What one model promises; every value is set, and times lie on edges of its engine's histograms."""

    availability: float
    """Share of requests without an error of ours."""
    errors_above: float
    """Share of failed requests at which an alert fires."""
    latency_s: float
    """Whole answer, 99th percentile (seconds)."""
    first_token_s: float
    """First token, 99th percentile (seconds)."""
    token_s: float
    """Each further token, 99th percentile (seconds)."""
    share: float
    """Share of requests that must keep the times above."""
    usd_per_million_tokens: float | None
    """Cost at which an alert fires; None: no such alert."""


@dataclass(frozen=True, slots=True)
class ObservabilityPlan:
    """What is watched, by what, and against which promises."""

    config: Observability
    pace: float
    """Factor on every window and every wait of the rules."""
    scrape_interval: int
    """Seconds between two scrapes."""
    retention: int
    """How long samples are kept (seconds)."""
    jobs: tuple[str, ...]
    """Values of the label ``job`` that there are."""
    objectives: Mapping[str, Objectives]
    """By model."""
    prices: Mapping[str, Price]
    """By pool, as far as the user said them; a pool without price has no cost."""
    runbook_base_url: str
    """A page is this, a slash and the alert's name with ``.md``."""
    external_labels: Mapping[str, str]
    images: Mapping[str, str]
    """Part to reference with digest, of the parts that this stack runs."""
    labels: Mapping[str, str]
    """Labels of every monitor and rule."""
    namespace: str
    """Namespace of every monitor and rule, from which engines are scraped."""
    installs: bool
    """Whether Prometheus and Alertmanager are ours."""
    idle_tokens_per_s: float
    """A model below it is idle (tokens per second)."""
