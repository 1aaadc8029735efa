"""Who Prometheus is, and the little that it may read."""

from __future__ import annotations

from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests import gateway, model
from infra.plan.manifests.base import Manifest, manifest

RBAC = "rbac.authorization.k8s.io/v1"
"""API of roles."""

PROMETHEUS = "prometheus"
"""Account of Prometheus."""

_READ = ["get", "list", "watch"]


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Account and roles of Prometheus and Alertmanager: part → manifest."""
    parts = {
        "prometheus-account": manifest("v1", "ServiceAccount", PROMETHEUS, seen.namespace),
        "alertmanager-account": manifest(
            "v1", "ServiceAccount", "alertmanager", seen.namespace, automountServiceAccountToken=False
        ),
    }
    hosts = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": _READ},
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    parts |= cluster_role(PROMETHEUS, seen.namespace, hosts)
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": _READ}
    # Alertmanager is found by its Service, and the API server by the one that every cluster has.
    services = {"apiGroups": [""], "resources": ["services", "pods"], "verbs": _READ}
    slices = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _READ}
    for namespace in _with_services(seen):
        parts |= role(PROMETHEUS, seen.namespace, namespace, [services, slices])
    for namespace in _with_pods(plan, seen):
        parts |= role(PROMETHEUS, seen.namespace, namespace, [pods])
    return parts


def _with_services(seen: ObservabilityPlan) -> list[str]:
    return [seen.namespace, "default"]


def _with_pods(plan: Plan, seen: ObservabilityPlan) -> list[str]:
    beside = {scrape.namespace for scrape in plan.target.scrapes if scrape.where == "pods" and scrape.job in seen.jobs}
    return [model.NAMESPACE, gateway.NAMESPACE, *sorted(beside)]


def role(account: str, home: str, namespace: str, rules: list[Manifest]) -> dict[str, Manifest]:
    """A role within one namespace, and who has it: part → manifest.

    Args:
        account: service account that gets it.
        home: namespace of the account.
        namespace: where it holds.
        rules: what it allows.
    """
    bound: Manifest = {"subjects": [_subject(account, home)], "roleRef": _reference("Role", account)}
    return {
        f"{account}-role-{namespace}": manifest(RBAC, "Role", account, namespace, rules=rules),
        f"{account}-binding-{namespace}": manifest(RBAC, "RoleBinding", account, namespace, **bound),
    }


def cluster_role(account: str, home: str, rules: list[Manifest]) -> dict[str, Manifest]:
    """A role for things outside any namespace, and who has it: part → manifest."""
    name = f"railwright-{account}"
    bound: Manifest = {"subjects": [_subject(account, home)], "roleRef": _reference("ClusterRole", name)}
    return {
        f"{account}-role": manifest(RBAC, "ClusterRole", name, rules=rules),
        f"{account}-binding": manifest(RBAC, "ClusterRoleBinding", name, **bound),
    }


def _subject(account: str, namespace: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": account, "namespace": namespace}


def _reference(kind: str, name: str) -> Manifest:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
