"""Alertmanager as the operator runs it: who is told of what, and what goes without saying."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import ceil

from infra.config.observability import Alertmanager, Receiver, SecretKey
from infra.plan.facts import ObservabilityPlan
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability.form import GROUP
from infra.plan.manifests.observability.prometheus import running, service

NAME = "alertmanager"
"""Name of the Alertmanager and its Service."""

PORT = 9093
"""Port of its API."""

CONFIG = "alertmanager-config"
"""Secret that holds its configuration; the operator asks for a Secret, though nothing in it is one."""

NOBODY = "nobody"
"""Receiver of what nobody asked for; it is shown and not told."""

RUNBOOKS = "runbook-receive"
"""Receiver that answers with plans."""

_WAITS = {"group_wait": 30, "group_interval": 300, "repeat_interval": 14_400}
"""From alert to message, to the next of its group, and to the same again (seconds). Source: Alertmanager's defaults,
for repeats 4 hours; they follow the pace of the rules."""

_MUTED = (
    ('alertname="HostNotReady"', 'level=~"gpu|fabric|host",alertname!="HostNotReady"', "host"),
    ('alertname="LeafDown"', 'alertname="HostNotReady"', "leaf"),
    ('alertname="ModelDown"', 'alertname=~"EngineDown|EngineNotStarting"', "model"),
    ('severity="page"', 'severity=~"ticket|info"', "alertname,model,host"),
)
"""What one alert says already: its matchers, those of what it mutes, and the labels that must be equal."""


def objects(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """The Alertmanager, its configuration and its Service: part → manifest."""
    wait = {"pulumi.com/waitFor": "condition=Available"}
    text = json.dumps(configuration(seen.config.alertmanager, seen.pace), indent=1)
    return {
        "alertmanager-config": manifest("v1", "Secret", CONFIG, seen.namespace, stringData={"alertmanager.yaml": text}),
        "alertmanager": manifest(GROUP, "Alertmanager", NAME, seen.namespace, annotations=wait, spec=_spec(seen)),
        "alertmanager-service": service(NAME, seen.namespace, PORT, seen.config.alertmanager),
    }


def configuration(config: Alertmanager, pace: float) -> Manifest:
    """Routes, receivers and mutes, as Alertmanager reads them; YAML takes JSON."""
    return {
        "route": {
            "receiver": NOBODY,
            "group_by": ["alertname", "model", "pool"],
            **{key: f"{ceil(seconds * pace)}s" for key, seconds in _WAITS.items()},
            "routes": list(_routes(config)),
        },
        "receivers": [{"name": NOBODY}, *_receivers(config)],
        "inhibit_rules": [
            {
                "source_matchers": source.split(","),
                "target_matchers": target.split(","),
                "equal": equal.split(","),
            }
            for source, target, equal in _MUTED
        ],
    }


def _routes(config: Alertmanager) -> Iterator[Manifest]:
    if config.runbooks:
        yield {"receiver": RUNBOOKS, "matchers": ['severity=~"page|ticket"'], "continue": True}
    for name, receiver in config.receivers.items():
        matchers = [f'severity=~"{"|".join(receiver.severities)}"']
        if receiver.alerts:
            matchers = [f'alertname=~"{"|".join(receiver.alerts)}"']
        yield {"receiver": name, "matchers": matchers, "continue": True}


def _receivers(config: Alertmanager) -> Iterator[Manifest]:
    if config.runbooks:
        yield {"name": RUNBOOKS, "webhook_configs": [_hook({"url": config.runbooks}, config.runbooks_token_secret)]}
    for name, receiver in config.receivers.items():
        address = {"url_file": _file(receiver.url_secret)} if receiver.url_secret else {"url": receiver.url}
        yield {"name": name, "webhook_configs": [_hook(address, receiver.token_secret)]}


def _hook(address: Manifest, token: SecretKey | None) -> Manifest:
    """One webhook; it hears of the end of an alert too."""
    shown = {"http_config": {"authorization": {"credentials_file": _file(token)}}} if token else {}
    return {"send_resolved": True, **address, **shown}


def _spec(seen: ObservabilityPlan) -> Manifest:
    config = seen.config.alertmanager
    spec = running(seen, NAME, config) | {
        "automountServiceAccountToken": False,
        "configSecret": CONFIG,
        "retention": "120h",
    }
    if secrets := sorted({secret.name for secret in _secrets(config)}):
        spec["secrets"] = secrets
    return spec


def _secrets(config: Alertmanager) -> Iterator[SecretKey]:
    if config.runbooks_token_secret:
        yield config.runbooks_token_secret
    for receiver in config.receivers.values():
        yield from _secrets_of(receiver)


def _secrets_of(receiver: Receiver) -> Iterator[SecretKey]:
    yield from (secret for secret in (receiver.url_secret, receiver.token_secret) if secret)


def _file(secret: SecretKey) -> str:
    """Where the operator mounts a Secret that the Alertmanager names."""
    return f"/etc/alertmanager/secrets/{secret.name}/{secret.key}"
