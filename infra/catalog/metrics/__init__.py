"""Metrics that rules, dashboards and runbooks use: what is not listed here, none of them may name."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.metrics.control_plane import CONTROL_PLANE, EVERYWHERE
from infra.catalog.metrics.dcgm import DCGM
from infra.catalog.metrics.envoy import ENVOY
from infra.catalog.metrics.kubernetes import KUBERNETES
from infra.catalog.metrics.metric import Metric
from infra.catalog.metrics.node import NODE
from infra.catalog.metrics.vllm import VLLM

METRICS: Mapping[str, Metric] = {
    row.name: row for row in (*VLLM, *ENVOY, *DCGM, *NODE, *KUBERNETES, *CONTROL_PLANE, *EVERYWHERE)
}
"""By name."""

SERIES: Mapping[str, Metric] = {series: row for row in METRICS.values() for series in row.series()}
"""By name of the series, so with ``_bucket``, ``_count`` and ``_sum`` of histograms."""
