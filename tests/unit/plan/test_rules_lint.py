"""The lint finds what keeps the alerts of public rule files from ever firing."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.rules.lint import lint


def _found(alert: str, expr: str, url: str = "") -> list[str]:
    rule: dict[str, Any] = {"alert": alert, "expr": expr, "annotations": {"runbook_url": url}}
    return list(lint([{"name": "g", "rules": [rule]}]))


RATIO = "sum(rate(envoy_railwright_errors[{0}])) / sum(rate(envoy_railwright_requests[{0}]))"
BURN = f"(1 - {RATIO.format('1h')}) < 0.999 and\n# and shortly before\n(1 - {RATIO.format('5m')}) < 0.999"
PAGE = "https://example.org/alerts.md"


@pytest.mark.parametrize(
    ("alert", "expr", "url", "says"),
    [
        ("HighPreemptions", "sum by (pod) (rate(vllm:num_preemptions[5m])) > 1", "", "add _total"),
        ("AvailabilitySLOBurn", BURN, "", "plain threshold"),
        ("KvCacheCritical", "max by (pod) (vllm:kv_cache_usage_perc) > 0.95", f"{PAGE}#kvCachecritical", "lower case"),
        ("OldCache", "max(vllm:gpu_cache_usage_perc) > 0.9", "", "neither recorded nor in the catalogue"),
        ("Waiting", "rate(vllm:num_requests_waiting[5m]) > 1", "", "is a gauge"),
        ("Slow", "histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 3", "",
         "3 is no edge"),
        ("Slow", 'sum(rate(vllm:e2e_request_latency_seconds_bucket{le="6"}[5m]))', "", "no bucket that ends at 6"),
    ],
    ids=["suffix (llm-d)", "burn (llm-d)", "anchor (llm-d)", "gone", "gauge", "quantile", "bucket"],
)  # fmt: skip
def test_a_fault_is_told(alert: str, expr: str, url: str, says: str) -> None:
    """One sentence, with the alert and what to do."""
    found = _found(alert, expr, url)
    assert len(found) == 1, found
    assert found[0].startswith(f"{alert}: ")
    assert says in found[0]


@pytest.mark.parametrize(
    ("alert", "expr"),
    [
        ("HighPreemptions", "sum by (pod) (rate(vllm:num_preemptions_total[5m])) > 1"),
        ("AvailabilityBurn", f"({RATIO.format('1h')}) > 14.4 * 0.001 and ({RATIO.format('5m')}) > 14.4 * (1 - 0.999)"),
        ("Slow", "histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5"),
        ("Slow", 'sum(rate(vllm:e2e_request_latency_seconds_bucket{le="5.0"}[5m]))'),
        ("Xid", "changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0"),
    ],
    ids=["suffix", "burn", "quantile", "bucket", "changes of a gauge"],
)
def test_what_is_right_is_left_alone(alert: str, expr: str) -> None:
    """Otherwise nobody would read what it says."""
    assert _found(alert, expr) == []
