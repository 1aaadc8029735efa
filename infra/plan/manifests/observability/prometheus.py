"""Prometheus as the operator runs it, and the Service in front of it."""

from __future__ import annotations

from math import ceil
from typing import Any

from infra.config.observability import RemoteWrite, SecretKey, Served, Storage
from infra.plan.facts import ObservabilityPlan
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability.form import GROUP, pod_security, resources
from infra.plan.refusals.monitoring import storage_bytes
from infra.units import MIB

NAME = "prometheus"
"""Name of the Prometheus and its Service."""

PORT = 9090
"""Port of its API."""

OWN_TOKEN = "own-token"  # noqa: S105  the name of a class, not a token
"""Class of the scrapes that show Prometheus's own token; a monitor of a user cannot ask for it by a path."""

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def objects(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """The Prometheus and its Service: part → manifest."""
    # The update waits until it answers.
    wait = {"pulumi.com/waitFor": "condition=Available"}
    return {
        "prometheus": manifest(GROUP, "Prometheus", NAME, seen.namespace, annotations=wait, spec=_spec(seen)),
        "prometheus-service": service(NAME, seen.namespace, PORT, seen.config.prometheus),
    }


def service(name: str, namespace: str, port: int, served: Served) -> Manifest:
    """The Service in front of what the operator runs under a name."""
    entry: Manifest = {"name": "web", "port": port, "targetPort": "web"}
    if served.node_port:
        entry["nodePort"] = served.node_port
    spec = {"type": served.service, "selector": {name: name}, "ports": [entry]}
    return manifest("v1", "Service", name, namespace, spec=spec)


def running(seen: ObservabilityPlan, part: str, served: Served) -> Manifest:
    """What Prometheus and Alertmanager have in common."""
    found: Manifest = {
        "image": seen.images[part],
        "imagePullPolicy": "IfNotPresent",
        "replicas": served.replicas,
        "serviceAccountName": part,
        "portName": "web",
        "resources": resources(served.cpus, ceil(served.memory_gib * 1024)),
        "securityContext": pod_security(),
        "enableServiceLinks": False,
    }
    if served.replicas > 1:
        spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
        found["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {part: part}}}]
    return found


def _spec(seen: ObservabilityPlan) -> Manifest:
    config, chosen = seen.config, {"matchLabels": dict(seen.labels)}
    interval = f"{seen.scrape_interval}s"
    alertmanager = {"namespace": seen.namespace, "name": "alertmanager", "port": "web", "apiVersion": "v2"}
    spec = running(seen, NAME, config.prometheus) | {
        "automountServiceAccountToken": True,
        "externalLabels": dict(seen.external_labels),
        # Both replicas of a pair are one Prometheus to whoever reads what they write.
        "replicaExternalLabelName": "prometheus_replica",
        "scrapeInterval": interval,
        "scrapeTimeout": f"{min(10, seen.scrape_interval)}s",
        "evaluationInterval": interval,
        "scrapeClasses": [_own_token()],
        "serviceMonitorSelector": chosen,
        "podMonitorSelector": chosen,
        "scrapeConfigSelector": chosen,
        "ruleSelector": chosen,
        "serviceDiscoveryRole": "EndpointSlice",
        "alerting": {"alertmanagers": [alertmanager]},
        "retention": f"{seen.retention}s",
    }
    if config.storage:
        spec |= _storage(config.storage)
    if config.remote_write:
        spec["remoteWrite"] = [_remote_write(config.remote_write)]
    return spec


def _own_token() -> Manifest:
    return {
        "name": OWN_TOKEN,
        "authorization": {"credentialsFile": f"{_ACCOUNT}/token"},
        "tlsConfig": {"caFile": f"{_ACCOUNT}/ca.crt"},
    }


def _storage(storage: Storage) -> Manifest:
    """Room for samples; the oldest go before it is full."""
    limit = {"retentionSize": f"{storage_bytes(storage.size_gib) // MIB}MiB"}
    size = f"{ceil(storage.size_gib * 1024)}Mi"
    if storage.storage_class is None:
        return {**limit, "storage": {"emptyDir": {"sizeLimit": size}}}
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage.storage_class,
        "resources": {"requests": {"storage": size}},
    }
    return {**limit, "storage": {"volumeClaimTemplate": {"spec": claim}}}


def _remote_write(wanted: RemoteWrite) -> Manifest:
    found: Manifest = {"url": wanted.url}
    if wanted.token_secret:
        found["authorization"] = {"credentials": _key(wanted.token_secret)}
    if wanted.user_secret and wanted.password_secret:
        found["basicAuth"] = {"username": _key(wanted.user_secret), "password": _key(wanted.password_secret)}
    return found


def _key(secret: SecretKey) -> dict[str, Any]:
    return {"name": secret.name, "key": secret.key}
