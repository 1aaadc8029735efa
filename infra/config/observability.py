"""Observability: what is watched, how often and for how long, what is promised, and who is told."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from infra.config.base import Duration, Frozen, Labels, Name

URL_PATTERN = r"^https?://[^\s/@?#]+(/[^\s]*)?$"
"""An address without a password in it; those stay in Secrets."""

SECRET_PATTERN = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"  # noqa: S105  the shape of a Secret's name
"""The name of a Secret. Source: RFC 1123, DNS subdomain."""

SECRET_KEY_PATTERN = r"^[A-Za-z0-9._-]{1,253}$"  # noqa: S105  the shape of a key in a Secret
"""A key of a Secret. Source: Kubernetes API, Secret data."""

PAGES_PATTERN = r"^(https?://[^\s/@?#]+([^\s]*[^/\s])?|runbooks)$"
"""Where runbook pages are; a page is this, a slash and the alert's name."""

_RETENTION = re.compile(r"(\d+)([hd])")

LONGEST_RETENTION_DAYS = 400
"""Longest retention (days): a year and its month of comparison; longer belongs behind remote_write. Our choice."""

Url = Annotated[str, Field(pattern=URL_PATTERN)]
Share = Annotated[float, Field(gt=0, lt=1)]
Seconds = Annotated[float, Field(gt=0)]
NodePort = Annotated[int, Field(ge=30000, le=32767)]
Severity = Literal["page", "ticket", "info"]


def parse_retention(value: Any) -> Any:
    """Read ``6h`` or ``15d``."""
    if isinstance(value, timedelta):
        return value
    match = _RETENTION.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError("not a retention; write it like 6h or 15d")
    found = timedelta(hours=int(match[1]) * (24 if match[2] == "d" else 1))
    if not timedelta(hours=1) <= found <= timedelta(days=LONGEST_RETENTION_DAYS):
        raise ValueError(f"out of range; allowed is 1h to {LONGEST_RETENTION_DAYS}d, change it")
    return found


Retention = Annotated[timedelta, BeforeValidator(parse_retention)]
"""How long samples are kept, written ``6h`` or ``15d``."""


class SecretKey(Frozen):
    """One value in a Secret of the monitoring namespace that you make; it never enters the stack."""

    name: Annotated[str, Field(pattern=SECRET_PATTERN)]
    key: Annotated[str, Field(pattern=SECRET_KEY_PATTERN)]


class Storage(Frozen):
    """Where samples lie; there is no default, as losing them must be chosen."""

    size_gib: Annotated[float, Field(ge=1)]
    """Room for samples (GiB)."""
    storage_class: str | None = None
    """Class of a claim that outlives the pod; left out, a folder that goes with it."""


class Served(Frozen):
    """What Prometheus and Alertmanager have in common; neither asks who calls, so no load balancer."""

    cpus: Annotated[float, Field(gt=0)]
    """CPUs requested (count)."""
    memory_gib: Annotated[float, Field(ge=0.0625)]
    """Memory limit (GiB)."""
    replicas: Annotated[int, Field(ge=1, le=3)] = 1
    """Pods (count); each Prometheus scrapes everything."""
    service: Literal["ClusterIP", "NodePort"] = "ClusterIP"
    node_port: NodePort | None = None
    """Port on every host, for ``service: NodePort``; left out, Kubernetes picks one."""

    @model_validator(mode="after")
    def _port_is_used(self) -> Self:
        if self.node_port is not None and self.service != "NodePort":
            raise ValueError(f"node_port={self.node_port} has no effect with service={self.service!r}; set NodePort")
        return self


class Prometheus(Served):
    """The server that scrapes, keeps and judges."""

    cpus: Annotated[float, Field(gt=0)] = 2.0
    memory_gib: Annotated[float, Field(ge=0.0625)] = 16.0


class Receiver(Frozen):
    """One webhook that is told of alerts."""

    url: Url | None = None
    url_secret: SecretKey | None = None
    """Secret that holds the address, where the address itself opens the door."""
    token_secret: SecretKey | None = None
    """Secret that holds a bearer token."""
    severities: Annotated[tuple[Severity, ...], Field(min_length=1)] = ("page", "ticket")
    alerts: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of alerts, such as Watchdog for a dead man's switch; left out, all of these severities."""

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if (self.url is None) == (self.url_secret is None):
            raise ValueError("set exactly one of url and url_secret")
        return self


class Alertmanager(Served):
    """The server that groups, silences and tells."""

    cpus: Annotated[float, Field(gt=0)] = 0.1
    memory_gib: Annotated[float, Field(ge=0.0625)] = 0.25
    receivers: dict[Name, Receiver] = Field(default={})
    """Who is told; nobody, when left out."""
    runbooks: Url | None = None
    """Where ``runbook receive`` listens; it answers an alert with its runbook's plan. Left out, it is told nothing."""
    runbooks_token_secret: SecretKey | None = None
    """Secret that holds its bearer token; it takes alerts from other machines with one only."""

    @model_validator(mode="after")
    def _token_is_shown(self) -> Self:
        if self.runbooks_token_secret and self.runbooks is None:
            raise ValueError("runbooks_token_secret has no effect without runbooks; set runbooks, or remove it")
        return self


class RemoteWrite(Frozen):
    """A store elsewhere that gets all samples as well."""

    url: Url
    token_secret: SecretKey | None = None
    """Secret that holds a bearer token."""
    user_secret: SecretKey | None = None
    password_secret: SecretKey | None = None

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if (self.user_secret is None) != (self.password_secret is None):
            raise ValueError("set both of user_secret and password_secret, or neither")
        if self.token_secret and self.user_secret:
            raise ValueError("set token_secret, or user_secret and password_secret, not all of them")
        return self


class Existing(Frozen):
    """A Prometheus that is there and picks up our monitors and rules by their labels."""

    labels: Annotated[Labels, Field(min_length=1)]
    """Labels that its selectors ask for, such as ``release: monitoring``."""
    namespace: Name = "monitoring"
    """A namespace that it reads, and from which it connects to engines."""
    prometheus_url: Url | None = None
    """Where people and runbooks reach it; left out, nobody is told."""
    alertmanager_url: Url | None = None
    jobs: tuple[str, ...] = ("kubelet", "cadvisor", "kube-state-metrics", "node-exporter", "apiserver", "coredns")
    """Jobs that it scrapes by itself, under these names."""


class Promise(Frozen):
    """What a model promises; a value left out is taken from ``observability.slo``."""

    availability: Share | None = None
    """Share of requests without an error of ours."""
    errors_above: Share | None = None
    """Share of failed requests at which an alert fires."""
    latency_s: Seconds | None = None
    """Whole answer, 99th percentile (seconds)."""
    first_token_s: Seconds | None = None
    """First token, 99th percentile (seconds)."""
    token_s: Seconds | None = None
    """Each further token, 99th percentile (seconds)."""
    share: Share | None = None
    """Share of requests that must keep the times above."""
    usd_per_million_tokens: Annotated[float, Field(gt=0)] | None = None
    """Cost at which an alert fires; there is no default, as only you know what is too much."""


class Defaults(Promise):
    """What every model promises unless it says otherwise."""

    availability: Share = 0.999
    errors_above: Share = 0.01
    latency_s: Seconds = 5.0
    first_token_s: Seconds = 2.5
    token_s: Seconds = 0.1
    share: Share = 0.99


OWN = ("storage", "retention", "prometheus", "alertmanager", "remote_write", "operator", "definitions", "images")
"""Keys that describe a Prometheus of our own."""


class Observability(Frozen):
    """Monitoring of the stack; without this section nothing watches it."""

    enabled: bool = True
    pace: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Factor on every window and every wait of the rules; below 1, alerts come sooner and are less sure."""
    scrape_interval: Duration = timedelta(seconds=30)
    retention: Retention = timedelta(days=15)
    storage: Storage | None = None
    operator: Literal["install", "existing"] = "install"
    """``existing``: a prometheus-operator with its definitions is there and watches namespace ``monitoring``."""
    definitions: Literal["install", "existing"] = "install"
    """``existing``: others apply ``infra/components/crds``. Installed, their megabyte is part of the stack's state, and
    every update takes twenty CPU seconds more."""
    prometheus: Prometheus = Prometheus()
    alertmanager: Alertmanager = Alertmanager()
    remote_write: RemoteWrite | None = None
    existing: Existing | None = None
    """A Prometheus that is there; then monitors and rules are all that this stack makes."""
    gpu_exporter: Literal["install", "operator", "none"] = "install"
    """Who runs dcgm-exporter on hosts with GPUs: this stack, the GPU Operator, or nobody."""
    also: tuple[str, ...] = ()
    """Jobs of the target that are scraped on request only, such as ``etcd``."""
    dashboards: bool = True
    """Put the dashboards where Grafana's sidecar finds them."""
    images: dict[str, str] = Field(default={})
    """Part to image, where it is not the published one; by digest, or by name when the image lock knows its digest."""
    slo: Defaults = Defaults()
    models: dict[Name, Promise] = Field(default={})
    """What single models promise."""
    runbook_base_url: str = Field(default="runbooks", pattern=PAGES_PATTERN)
    """Where the runbook pages are; ``runbooks`` is their folder in the clone."""
    idle_tokens_per_s: Annotated[float, Field(gt=0)] = 1.0
    """A model below it is idle: it has no cost per token (tokens per second)."""

    @field_validator("scrape_interval")
    @classmethod
    def _seen_in_time(cls, value: timedelta) -> timedelta:
        if value > timedelta(minutes=2):
            raise ValueError("too long: samples count for 5 minutes, so one lost scrape is a gap; set it to 2m or less")
        return value

    @model_validator(mode="after")
    def _one_prometheus(self) -> Self:
        if not self.enabled:
            return self
        if self.existing is None and self.storage is None:
            raise ValueError(
                "storage is missing; set storage.size_gib, with storage.storage_class for samples that outlive the pod"
            )
        if self.existing and (unused := [key for key in OWN if key in self.model_fields_set]):
            raise ValueError(
                f"{', '.join(unused)} describe a Prometheus of this stack, and existing says that there is another; "
                f"remove {'it' if len(unused) == 1 else 'them'}, or remove existing"
            )
        return self
