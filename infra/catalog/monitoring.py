"""Monitoring: the published images of its parts, and where a target keeps the parts of its control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Image:
    """One published image, fixed by its digest."""

    part: str
    name: str
    version: str
    """What the digest was published as."""
    digest: str
    source: str

    @property
    def reference(self) -> str:
        """Name and digest; the version is for readers."""
        return f"{self.name}@sha256:{self.digest}"


_STACK = "images of the chart kube-prometheus-stack 88.0.1, as clusters that run it report them"

PUBLISHED: Mapping[str, Image] = {
    row.part: row
    for row in (
        Image("prometheus-operator", "quay.io/prometheus-operator/prometheus-operator", "0.93.0",
              "a001ed10a3823bbf2410ea347796d0e35ff8decd24fb98acbe7ab9e98d431c39", _STACK),
        Image("prometheus-config-reloader", "quay.io/prometheus-operator/prometheus-config-reloader", "0.93.0",
              "0ccb22ca9f3f6fd9f76ce95585d18bd2e363d421c534dde710be4bd13caa551d", _STACK),
        Image("prometheus", "quay.io/prometheus/prometheus", "3.13.2",
              "64f71bb84e03c855948418b0fc5dea53e9543d8e3fc9931598f583805507f05e", _STACK),
        Image("alertmanager", "quay.io/prometheus/alertmanager", "0.33.1",
              "9e082985f56f4c8c9f724e18f2288c6708f472e56a5286b8863d080434ea065d", _STACK),
        Image("node-exporter", "quay.io/prometheus/node-exporter", "1.12.1",
              "8c9bac11973b94b59be88d6e11fee4429aa743c8846cdc75d65b18db33f6a106", _STACK),
        Image("kube-state-metrics", "registry.k8s.io/kube-state-metrics/kube-state-metrics", "2.19.1",
              "85108987d044b18a098126732f98602df408888c0f7d456241f5abefb9744bc1", _STACK),
        Image("dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter", "4.6.0-4.8.3",
              "b4df763de9558e5b3f1f1d79bc65b772fcf65b8a9c3664ea7173e47153112b4a",
              "GitHub release 4.6.0-4.8.3 of NVIDIA/dcgm-exporter; the version that GPU Operator 26.7 brings"),
    )
}  # fmt: skip
"""By part. What is mirrored under another name goes into ``observability.images``."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """A part of the control plane, or of the lab, that a target lets Prometheus read."""

    job: str
    port: int
    where: Literal["hosts", "pods"]
    """``hosts``: listens on a host's own address; ``pods``: on the address of a pod."""
    labels: Mapping[str, str]
    """Labels of those hosts or pods; an empty value asks for the label alone."""
    namespace: str = ""
    """Namespace of the pods."""
    on_request: bool = False
    """Only where ``observability.also`` names it, because a default set-up does not let it be read."""
    honors_labels: bool = False
    """Whether it speaks for others, whose labels stand."""
    every: int = 1
    """Scraped at every n-th interval (count)."""
    source: str = ""
