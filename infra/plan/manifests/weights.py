"""Weights on a shared claim: one Job fetches them once, at one commit, before any replica starts."""

from __future__ import annotations

from infra.plan.facts import ModelPlan
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.model import NAMESPACE, USER_ID
from infra.units import GIB, ceil_div

DOWNLOAD_SECRET = "huggingface"  # noqa: S105  the name of a Secret, not a secret
"""Secret with the key ``token``, made by the user; the Job runs without it for open checkpoints."""


COMPILED_GIB = 50
"""Room beside the weights for compiled kernels of a few images (GiB)."""


def claim(plan: ModelPlan) -> Manifest:
    """The shared claim: room for the weights and for compiled kernels."""
    size_gib = ceil_div(plan.stored, GIB) + COMPILED_GIB
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": plan.model.weights.storage_class,
        "resources": {"requests": {"storage": f"{size_gib}Gi"}},
    }
    return manifest("v1", "PersistentVolumeClaim", str(plan.model.weights.claim), NAMESPACE, spec=spec)


def download(plan: ModelPlan) -> Manifest:
    """The download Job; it may be killed anywhere and goes on where it was."""
    pod = {
        "restartPolicy": "OnFailure",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan)],
        "volumes": [
            {"name": "claim", "persistentVolumeClaim": {"claimName": plan.model.weights.claim}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    wait = {"pulumi.com/timeoutSeconds": str(plan.startup.progress_deadline + 4 * plan.startup.read)}
    spec = {"backoffLimit": 6, "template": {"spec": pod}}
    return manifest("batch/v1", "Job", f"{plan.name}-weights", NAMESPACE, annotations=wait, spec=spec)


def _container(plan: ModelPlan) -> Manifest:
    weights = plan.model.weights
    return {
        "name": "download",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["hf", "download", str(weights.repository)],
        "args": [f"--revision={weights.revision}", "--local-dir=/claim/weights"],
        "env": [
            {"name": "HOME", "value": "/tmp"},  # noqa: S108  the container's own emptyDir
            {
                "name": "HF_TOKEN",
                "valueFrom": {"secretKeyRef": {"name": DOWNLOAD_SECRET, "key": "token", "optional": True}},
            },
        ],
        "resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "8Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "claim", "mountPath": "/claim"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  as above
        ],
    }
