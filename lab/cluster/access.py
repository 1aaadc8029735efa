"""What the lab's own clients may do: the roles that Kubernetes does not bring itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from infra.errors import CheckError
from lab.cluster.lab import Lab

READ = ("get", "list", "watch")
"""Verbs of a client that only looks."""

Rule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources, verbs."""

RULES: Mapping[str, tuple[Rule, ...]] = {
    "coredns": (
        ("", ("services", "pods", "namespaces"), READ),
        ("discovery.k8s.io", ("endpointslices",), READ),
    ),
    "kwok": (
        ("", ("nodes",), READ),
        ("", ("nodes/status", "pods/status"), ("patch", "update")),
        ("", ("pods",), (*READ, "delete", "patch", "update")),
        ("", ("events",), ("create", "patch", "update")),
        ("coordination.k8s.io", ("leases",), (*READ, "create", "patch", "update")),
    ),
    "fleet": (
        ("lab.railwright.dev", ("nodepools",), (*READ, "patch")),
        ("lab.railwright.dev", ("nodepools/status",), ("patch",)),
        ("", ("nodes",), (*READ, "create", "patch", "delete")),
        ("", ("nodes/status", "pods/status"), ("patch",)),
        ("", ("pods",), (*READ, "delete")),
        ("coordination.k8s.io", ("leases",), ("delete",)),
    ),
}
"""What each client of ours may do. Source for kwok: the role that its own release installs, less its CRDs."""

BUILT_IN: Mapping[str, str] = {"kube-apiserver": "system:kubelet-api-admin"}
"""Clients of ours that get one of Kubernetes' own roles: the API server reads logs from the kubelet as one."""


def objects() -> list[dict[str, Any]]:
    """Cluster roles and their bindings."""
    roles = [_role(name, rules) for name, rules in RULES.items()]
    bindings = [_binding(name, f"railwright:{name}") for name in RULES]
    return roles + bindings + [_binding(name, role) for name, role in BUILT_IN.items()]


def _role(name: str, rules: tuple[Rule, ...]) -> dict[str, Any]:
    listed = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules
    ]
    return {**_head("ClusterRole", name), "rules": listed}


def _binding(name: str, role: str) -> dict[str, Any]:
    return {
        **_head("ClusterRoleBinding", name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"railwright:{name}"}],
    }


def _head(kind: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": f"railwright:{name}"},
    }


def grant(lab: Lab) -> None:
    """Bring the roles into the cluster; changes nothing when they are there."""
    kubectl(lab, "apply", "--server-side", "--filename=-", given=yaml.safe_dump_all(objects()))


def kubectl(lab: Lab, *arguments: str, given: str = "") -> str:
    """Run kubectl as the administrator, and give back what it prints."""
    argv = [lab.tool("kubectl"), f"--kubeconfig={lab.kubeconfig}", *arguments]
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(
            f"kubectl {' '.join(arguments)} — failed with {done.stderr.strip()!r} — it had to work — see `lab status`"
        )
    return done.stdout
