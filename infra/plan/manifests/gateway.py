"""Kubernetes objects of the gateway: stock Envoy, its configuration in a Secret, and a way out that cuts nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from math import ceil
from typing import Any

from infra.plan.envoy import ClientKey, GatewayRoutes, Tls, Upstream, certificate_source, pre_stop_command, render
from infra.plan.facts import GatewayPlan, Plan
from infra.plan.manifests import model
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.scheduling import priority_class
from infra.units import GIB, MIB

NAMESPACE = "gateway"
"""Namespace of the gateway."""

NAME = "gateway"
"""Name of its Deployment, Service and Secret."""

CONFIG_FOLDER = "/etc/envoy"
"""Where a pod finds its configuration, read-only."""

TLS_FOLDER = "/etc/gateway-tls"
"""Where a pod finds its certificate, read-only."""

_SOURCE = "certificate.json"

_LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "railwright"}

_DEFAULTS = GatewayRoutes((), (), timedelta(), timedelta())
STATS_PORT = _DEFAULTS.stats_port
"""Port of readiness and metrics."""
ADMIN_PORT = _DEFAULTS.admin_port
"""Port of Envoy's own administration, inside the pod only."""


def routes(plan: Plan, values: Mapping[str, str]) -> GatewayRoutes:
    """What this gateway serves, to whom.

    Args:
        values: value of each key, by key id.
    """
    gateway = plan.gateway.gateway
    keys = tuple(
        ClientKey(name, key.tenant, key.tier, values[name], tuple(key.models) if key.models else None)
        for name, key in plan.gateway.keys.items()
    )
    # Fully qualified: without the final dot each look-up tries the search domains first.
    hosts = {item.name: f"{item.name}.{model.NAMESPACE}.svc.cluster.local." for item in plan.models}
    return GatewayRoutes(
        models=tuple(Upstream(item.name, hosts[item.name], item.engine.port) for item in plan.models),
        keys=keys,
        longest_answer=gateway.longest_answer,
        idle_timeout=gateway.idle_timeout,
        tls=Tls(f"{CONFIG_FOLDER}/{_SOURCE}", gateway.tls.plain_http) if gateway.tls else None,
        max_request_bytes=gateway.max_request_bytes,
        port=gateway.port,
        max_heap_bytes=_heap_mib(plan.gateway) * MIB,
    )


def url(plan: GatewayPlan) -> str:
    """Base URL inside the cluster, ending in ``/v1``."""
    tls = plan.gateway.tls
    scheme = "https" if tls and not tls.plain_http else "http"
    return f"{scheme}://{NAME}.{NAMESPACE}.svc:{plan.gateway.port}/v1"


def config_text(plan: Plan, values: Mapping[str, str]) -> str:
    """Envoy's whole configuration; it holds the keys."""
    return json.dumps(render(routes(plan, values)), indent=1, sort_keys=True)


def digest(text: str) -> str:
    """Changes when the configuration does, so that pods are replaced; tells nothing of the keys."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def objects(plan: GatewayPlan, config: Any, config_digest: Any) -> dict[str, Manifest]:
    """All objects of the gateway: part → manifest.

    Args:
        config: Envoy's configuration, as text or as a secret output of it.
        config_digest: its digest, likewise.
    """
    files = {"envoy.json": config}
    if plan.gateway.tls:
        files[_SOURCE] = json.dumps(certificate_source(TLS_FOLDER))
    parts = {
        "account": manifest("v1", "ServiceAccount", NAME, NAMESPACE, automountServiceAccountToken=False),
        "config": manifest("v1", "Secret", NAME, NAMESPACE, stringData=files),
        "service": manifest("v1", "Service", NAME, NAMESPACE, spec=_service(plan)),
        "deploy": _deployment(plan, config_digest),
    }
    if plan.gateway.replicas > 1:
        budget = {
            "minAvailable": plan.gateway.replicas - 1,
            "selector": {"matchLabels": _LABELS},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        }
        parts["budget"] = manifest("policy/v1", "PodDisruptionBudget", NAME, NAMESPACE, spec=budget)
    return parts


def _service(plan: GatewayPlan) -> Manifest:
    port: Manifest = {"name": "http", "port": plan.gateway.port, "targetPort": "http"}
    if plan.gateway.node_port:
        port["nodePort"] = plan.gateway.node_port
    return {"type": plan.gateway.service, "selector": _LABELS, "ports": [port]}


def _deployment(plan: GatewayPlan, config_digest: Any) -> Manifest:
    annotations = {
        "railwright.dev/config-digest": config_digest,
        "railwright.dev/prestop-seconds": f"{plan.gateway.pre_stop.total_seconds():g}",
        "railwright.dev/drain-seconds": str(round(plan.gateway.drain.total_seconds())),
        "railwright.dev/teardown-seconds": str(plan.teardown),
        "railwright.dev/longest-answer-seconds": str(plan.longest_answer),
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(STATS_PORT),
        "prometheus.io/path": "/stats/prometheus",
    }
    spec = {
        "replicas": plan.gateway.replicas,
        "revisionHistoryLimit": model.REVISIONS,
        "selector": {"matchLabels": _LABELS},
        # The new replica answers before the old one starts to leave.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": _LABELS, "annotations": annotations}, "spec": _pod(plan)},
    }
    return manifest("apps/v1", "Deployment", NAME, NAMESPACE, spec=spec)


def _pod(plan: GatewayPlan) -> Manifest:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": plan.grace,
        # As important as the most important of what passes it.
        "priorityClassName": priority_class("premium"),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": model.USER_ID,
            "runAsGroup": model.USER_ID,
            "fsGroup": model.USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _LABELS},
                "matchLabelKeys": ["pod-template-hash"],
            }
        ],
        "containers": [_container(plan)],
        "volumes": [volume for volume, _ in _secrets(plan)],
    }


def _container(plan: GatewayPlan) -> Manifest:
    gateway = plan.gateway
    ready = {"httpGet": {"path": "/ready", "port": "stats"}}
    stop = pre_stop_command(admin_port=ADMIN_PORT, pre_stop=gateway.pre_stop, drain=gateway.drain)
    memory = f"{_memory_mib(plan)}Mi"
    return {
        "name": "envoy",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["envoy"],
        "args": [
            # Envoy takes a flag and its value as two words only.
            *("--config-path", f"{CONFIG_FOLDER}/envoy.json"),
            *("--concurrency", str(ceil(gateway.resources.cpus))),
            # At the level below, it prints pages about messages that are work in progress.
            *("--log-level", "error"),
            # Without this it wants shared memory and a user of its own.
            "--disable-hot-restart",
            *("--file-flush-interval-msec", "1000"),
        ],
        "ports": [
            {"name": "http", "containerPort": gateway.port},
            {"name": "stats", "containerPort": STATS_PORT},
        ],
        "resources": {
            "requests": {"cpu": f"{round(gateway.resources.cpus * 1000)}m", "memory": memory},
            "limits": {"memory": memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "startupProbe": ready | {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 60},
        "readinessProbe": ready | {"periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 1},
        # Not /ready: that fails on purpose while a pod drains.
        "livenessProbe": {
            "tcpSocket": {"port": "stats"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        "lifecycle": {"preStop": {"exec": {"command": stop}}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [mount for _, mount in _secrets(plan)],
    }


def _secrets(plan: GatewayPlan) -> list[tuple[Manifest, Manifest]]:
    """Each Secret of a pod, as its volume and where that is mounted."""
    secrets: dict[str, Manifest] = {CONFIG_FOLDER: {"secretName": NAME}}
    if tls := plan.gateway.tls:
        # Without plain HTTP a pod has nothing to serve before there is a certificate, so it waits.
        secrets[TLS_FOLDER] = {"secretName": tls.secret_name, "optional": tls.plain_http}
    names = {CONFIG_FOLDER: "config", TLS_FOLDER: "certificate"}
    return [
        (
            {"name": names[folder], "secret": secret | {"defaultMode": 0o440}},
            {"name": names[folder], "mountPath": folder, "readOnly": True},
        )
        for folder, secret in secrets.items()
    ]


def _memory_mib(plan: GatewayPlan) -> int:
    return round(plan.gateway.resources.memory_gib * GIB) // MIB


def _heap_mib(plan: GatewayPlan) -> int:
    """Leave a quarter of the limit to what Envoy does not count as heap."""
    return _memory_mib(plan) * 3 // 4
