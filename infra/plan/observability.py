"""What is watched, against which promises: the section of the spec, completed by facts of target and pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from infra.catalog.monitoring import PUBLISHED
from infra.catalog.targets import TargetFacts
from infra.config.observability import Observability, Promise
from infra.config.stack import Spec, Stack
from infra.plan.facts import Objectives, ObservabilityPlan, PoolPlan
from infra.plan.images import with_digest

NAMESPACE = "monitoring"
"""Namespace of monitoring that is ours."""

OWN_LABELS = {"app.kubernetes.io/part-of": "railwright"}
"""Labels by which a Prometheus of ours knows its monitors and rules."""


def observe(spec: Spec, stack: Stack, target: TargetFacts, pools: Iterable[PoolPlan]) -> ObservabilityPlan | None:
    """Plan the monitoring; None where the spec has none, or turns it off."""
    config, pools = stack.observability, tuple(pools)
    if config is None or not config.enabled:
        return None
    return ObservabilityPlan(
        config=config,
        pace=config.pace,
        scrape_interval=round(config.scrape_interval.total_seconds()),
        retention=round(config.retention.total_seconds()),
        jobs=tuple(dict.fromkeys(_jobs(config, target, pools))),
        objectives={name: _objectives(config, config.models.get(name)) for name in stack.models},
        # A reference is nobody's bill, so no alert is made of it.
        prices={pool.name: pool.price for pool in pools if pool.price and not pool.price.is_reference},
        runbook_base_url=config.runbook_base_url,
        external_labels={"cluster": stack.cluster.name, "stack": spec.name},
        images={part: _image(part, config, target, spec.digests) for part in _parts(config, pools)},
        labels=OWN_LABELS | (config.existing.labels if config.existing else {}),
        namespace=config.existing.namespace if config.existing else NAMESPACE,
        installs=config.existing is None,
        idle_tokens_per_s=config.idle_tokens_per_s,
    )


def scraped(config: Observability, target: TargetFacts) -> list[str]:
    """Jobs of the target's own parts that this stack reads; none where another Prometheus reads them."""
    if config.existing:
        return [scrape.job for scrape in target.scrapes if scrape.honors_labels]
    return [scrape.job for scrape in target.scrapes if not scrape.on_request or scrape.job in config.also]


def runs_gpu_exporter(config: Observability, pools: Iterable[PoolPlan]) -> bool:
    """Whether this stack runs dcgm-exporter: simulated hosts have no GPU to ask."""
    return config.gpu_exporter == "install" and any(pool.board.gpu and not pool.simulated for pool in pools)


def _jobs(config: Observability, target: TargetFacts, pools: tuple[PoolPlan, ...]) -> Iterator[str]:
    yield from ("vllm", "envoy")
    if any(pool.simulated or (pool.board.gpu and config.gpu_exporter != "none") for pool in pools):
        yield "dcgm-exporter"
    yield from scraped(config, target)
    if config.existing:
        yield from config.existing.jobs
        return
    yield from ("kubelet", "cadvisor", "kube-state-metrics", "node-exporter", "apiserver")
    yield from ("prometheus", "alertmanager")
    if config.operator == "install":
        yield "prometheus-operator"


def _parts(config: Observability, pools: tuple[PoolPlan, ...]) -> Iterator[str]:
    if runs_gpu_exporter(config, pools):
        yield "dcgm-exporter"
    if config.existing:
        return
    yield from ("prometheus", "alertmanager", "node-exporter", "kube-state-metrics")
    if config.operator == "install":
        yield from ("prometheus-operator", "prometheus-config-reloader")


def _image(part: str, config: Observability, target: TargetFacts, digests: Mapping[str, str]) -> str:
    usual = f"{target.image_prefix}{part}" if target.image_prefix else PUBLISHED[part].reference
    return with_digest(config.images.get(part, usual), digests)


def _objectives(config: Observability, own: Promise | None) -> Objectives:
    said = own.model_dump(exclude_none=True) if own else {}
    return Objectives(**{**config.slo.model_dump(), **said})
