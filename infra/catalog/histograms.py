"""Edges of the engines' histograms: a limit between two of them cannot be told from its neighbours."""

from __future__ import annotations

from collections.abc import Mapping

EDGES: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "vllm": {
        "first_token": (
            *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
            *(20, 40, 80, 160, 640, 2560),
        ),
        "token": (
            *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
            *(20, 40, 80),
        ),
        "latency": (
            *(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960),
            *(1920, 7680),
        ),
    },
}
"""By engine, then by what is measured: upper bounds of the buckets (seconds).

Source: vllm 0.32.0, v1/metrics; ``--custom-histogram-buckets`` can set others.
"""
