"""Say in one line whether the stack serves: the gateway's address, and how many of its pods and models' are ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from infra.errors import RailwrightError
from lab import env, paths
from lab.cluster import health
from lab.cluster.lab import remembered, this_clone

PATIENCE_SECONDS = 2.0
"""Longest wait for the API server (s); a status must come at once or without this line."""

KINDS = {"gateway": "gateway", "models": "model"}
"""The namespaces of the stack, and what to call the pods there."""


def line() -> str:
    """The line, empty while the stack is not up or the API server does not answer."""
    network = remembered(paths.state_dir())
    if network is None:
        return ""
    try:
        trust = health.tls(this_clone(network), "admin")
        query = {"labelSelector": "app.kubernetes.io/part-of=railwright"}
        with httpx.Client(verify=trust, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            answer = client.get(f"{network.api_url}/api/v1/pods", params=query).raise_for_status()
        return said(answer.json()["items"], env.gateway_url())
    except (httpx.HTTPError, RailwrightError, OSError, ValueError):
        return ""


def said(pods: Sequence[Mapping[str, Any]], gateway: str | None) -> str:
    """The line for these pods; empty when there are none."""
    counts = []
    for namespace, kind in KINDS.items():
        if here := [_is_ready(pod) for pod in pods if pod["metadata"]["namespace"] == namespace]:
            counts.append(f"{sum(here)} of {len(here)} {kind} pods ready")
    where = f"gateway {gateway}: " if gateway else ""
    return f"{where}{', '.join(counts)}" if counts else ""


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
