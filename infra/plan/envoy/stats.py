"""Counters and histograms per tenant, tier and model; no label value is a client's word, so clients make no series.

Each request is counted in ``requests``, and in at most one of ``rejected``, ``errors``, ``cut`` and ``aborted``; what
is in none of them was answered whole. These four also count zeros, so that a first failure is a step that
Prometheus' ``increase`` sees, and not the birth of a series.
"""

from __future__ import annotations

import json
from typing import Any

from infra.plan.envoy.form import extension, when
from infra.plan.envoy.routes import DONE_PATHS, NAMESPACE

PREFIX = "railwright"
"""First part of the names: ``railwright.requests`` is ``envoy_railwright_requests`` to Prometheus."""

EDGES_MS = (250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000)
"""Bucket edges of our histograms (ms, as all times in Envoy): the latencies that objectives are stated in."""

_LEFT = "response.code_details.startsWith('downstream_remote_') || response.code_details.startsWith('http2.remote_')"
_ANSWERED = "has(response.code) && response.code < 400"
_SEEN = f"metadata.filter_metadata['{NAMESPACE}']"
# Engines close a connection politely also when they give up; what a stream lacks then is its last line.
_UNFINISHED = (
    f"request.url_path in {list(DONE_PATHS)} && 'content-type' in response.headers "
    "&& response.headers['content-type'].startsWith('text/event-stream') "
    f"&& (!('done' in {_SEEN}) || 'failed' in {_SEEN})"
)
_WHOLE = f"response.code_details in ['via_upstream', 'direct_response'] && !({_UNFINISHED})"

_OUTCOMES = {
    "rejected": f"!({_LEFT}) && has(response.code) && response.code >= 400 && response.code < 500",
    "errors": f"!({_LEFT}) && (!has(response.code) || response.code >= 500)",
    "cut": f"!({_LEFT}) && {_ANSWERED} && !({_WHOLE})",
    "aborted": _LEFT,
}

_TOKENS = ("prompt_tokens", "completion_tokens")
# To the first byte of the body: engines send the headers of a stream before its first token.
_FIRST_BYTE_MS = "%COMMON_DURATION(DS_RX_BEG:US_RX_BODY_BEG:ms)%"


def stats_logs() -> list[dict[str, Any]]:
    """Count each request when it has ended, and measure those that were answered."""
    outcomes = [_counter(name, value_format=f"%CEL({test} ? 1 : 0)%") for name, test in _OUTCOMES.items()]
    responses = {"stat": _stat("responses", code="%RESPONSE_CODE%", flags="%RESPONSE_FLAGS%"), "value_fixed": 1}
    tokens = [_counter(name, value_format=f"%DYNAMIC_METADATA({NAMESPACE}:{name})%") for name in _TOKENS]
    return [
        _logger(counters=[_counter("requests"), *outcomes, responses]),
        _logger(
            when(f"'{NAMESPACE}' in xds.route_metadata.filter_metadata && {_ANSWERED} && {_WHOLE}"),
            histograms=[_histogram("duration_ms", "%DURATION%")],
        ),
        _logger(
            when(f"xds.route_name.endsWith('/stream') && {_ANSWERED} && response.size > 0"),
            histograms=[_histogram("first_token_ms", _FIRST_BYTE_MS)],
        ),
        _logger(when(" && ".join(f"'{name}' in {_SEEN}" for name in _TOKENS)), counters=[_counter("metered"), *tokens]),
    ]


def stats_config() -> dict[str, Any]:
    """Name the model in the metrics of its cluster too, and set the edges."""
    return {
        "stats_tags": [{"tag_name": "model", "regex": r"^cluster\.(model/([^.]+)\.)"}],
        "histogram_bucket_settings": [{"match": {"prefix": f"{PREFIX}."}, "buckets": list(EDGES_MS)}],
    }


def _logger(condition: dict[str, Any] | None = None, **stats: Any) -> dict[str, Any]:
    message = "envoy.extensions.access_loggers.stats.v3.Config"
    logger = extension("envoy.access_loggers.stats", message, stats_scope={"prefix": PREFIX}, **stats)
    return logger | ({"filter": condition} if condition else {})


def _stat(name: str, **more: str) -> dict[str, Any]:
    tags = {
        "tenant": _known("DYNAMIC_METADATA", f"{NAMESPACE}:tenant"),
        "tier": _known("DYNAMIC_METADATA", f"{NAMESPACE}:tier"),
        # The model of the route that was taken, not the word that the client sent.
        "model": _known("METADATA", f"ROUTE:{NAMESPACE}:model"),
    }
    return {"name": name, "tags": [{"name": key, "value_format": value} for key, value in (tags | more).items()]}


def _known(command: str, param: str) -> str:
    """Print a value, or ``-`` where there is none."""
    operators = [{"command": command, "param": param}, {"command": "CEL", "param": "'-'"}]
    return f"%COALESCE({json.dumps({'operators': operators})})%"


def _counter(name: str, **value: str) -> dict[str, Any]:
    return {"stat": _stat(name), **(value or {"value_fixed": 1})}


def _histogram(name: str, value: str) -> dict[str, Any]:
    return {"stat": _stat(name), "unit": "Milliseconds", "value_format": value}
