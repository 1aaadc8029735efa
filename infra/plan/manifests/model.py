"""Kubernetes objects of one model: pods that start late, stop late and ask for no more than they need."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from math import ceil

from infra.plan.engine_args import CACHE_PATH, MODEL_PATH, TMP_PATH, arguments, command, environment, interpreter
from infra.plan.fabric.pod import DAEMON_FOLDERS, PodFabric, daemon, pod_fabric
from infra.plan.facts import ModelPlan
from infra.plan.manifests import startup_probe
from infra.plan.manifests.base import PART_OF, Manifest, manifest
from infra.plan.manifests.scheduling import constraints, queue_annotations, queue_labels
from infra.units import GIB, MIB

NAMESPACE = "models"
"""Namespace of all models."""

USER_ID = 10_001
"""User and group of our containers; any id above 10,000 collides with no host user."""

PROBE_SECONDS = 10
"""Period of the startup probe."""

REVISIONS = 0
"""Old ReplicaSets kept (count). Going back is a `pulumi up` too, and one that Kubernetes takes out of its history has
no replicas yet, which Pulumi takes for ready. Source: pulumi-kubernetes 4.25, await/deployment.go; seen in the lab."""


def labels(plan: ModelPlan) -> dict[str, str]:
    """Labels that select the pods of a model."""
    return {"app.kubernetes.io/name": plan.name, **PART_OF}


def objects(plan: ModelPlan, callers: Sequence[str]) -> dict[str, Manifest]:
    """All objects of one model but its weights' claim: part → manifest.

    Args:
        callers: namespaces that may connect to it.
    """
    parts = {
        "account": manifest("v1", "ServiceAccount", plan.name, NAMESPACE, automountServiceAccountToken=False),
        "service": manifest("v1", "Service", plan.name, NAMESPACE, spec=_service(plan)),
        "policy": _network_policy(plan, callers),
        "deploy": _deployment(plan),
    }
    if plan.rollover.min_available is not None:
        parts["budget"] = _disruption_budget(plan)
    return parts


def _deployment(plan: ModelPlan) -> Manifest:
    notes = _annotations(plan) | queue_annotations(plan)
    template = {"metadata": {"labels": labels(plan), "annotations": notes}, "spec": _pod(plan)}
    spec = {
        "replicas": plan.model.replicas,
        "revisionHistoryLimit": REVISIONS,
        "progressDeadlineSeconds": plan.startup.progress_deadline,
        "selector": {"matchLabels": labels(plan)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": plan.rollover.max_surge, "maxUnavailable": plan.rollover.max_unavailable},
        },
        "template": template,
    }
    # Pulumi waits as long as Kubernetes does; its own default of ten minutes is shorter than a large model's start.
    wait = {"pulumi.com/timeoutSeconds": str(plan.startup.progress_deadline * plan.model.replicas)}
    queue = queue_labels(plan)
    return manifest("apps/v1", "Deployment", plan.name, NAMESPACE, annotations=wait, labels=queue, spec=spec)


def _service(plan: ModelPlan) -> Manifest:
    return {
        # Headless: the gateway sees the pods themselves and balances requests, not connections.
        "clusterIP": "None",
        "selector": labels(plan),
        "ports": [{"name": "http", "port": plan.engine.port, "targetPort": "http"}],
    }


def _disruption_budget(plan: ModelPlan) -> Manifest:
    spec = {
        "minAvailable": plan.rollover.min_available,
        "selector": {"matchLabels": labels(plan)},
        # A replica that never became ready must not hold up the drain of its host.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return manifest("policy/v1", "PodDisruptionBudget", plan.name, NAMESPACE, spec=spec)


def _network_policy(plan: ModelPlan, callers: Sequence[str]) -> Manifest:
    allowed = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}} for namespace in callers
    ]
    spec = {
        "podSelector": {"matchLabels": labels(plan)},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": allowed, "ports": [{"protocol": "TCP", "port": plan.engine.port}]}],
    }
    return manifest("networking.k8s.io/v1", "NetworkPolicy", plan.name, NAMESPACE, spec=spec)


def _annotations(plan: ModelPlan) -> dict[str, str]:
    notes = {
        "railwright.dev/drain-seconds": str(plan.shutdown.drain),
        "railwright.dev/teardown-seconds": str(plan.shutdown.teardown),
        "railwright.dev/longest-answer-seconds": str(plan.shutdown.longest_answer),
    }
    if plan.pool.board.gpu:
        notes |= _formats(plan)
    if plan.model.trust_remote_code:
        notes["railwright.dev/trust-remote-code-reason"] = plan.model.trust_remote_code
    if plan.model.cuda:
        notes["railwright.dev/cuda"] = plan.model.cuda
    return {**notes, **_fabric(plan).annotations}


def _fabric(plan: ModelPlan) -> PodFabric:
    """A replica's share of the fabric; nothing for a model that stays on one host."""
    return pod_fabric(plan.pool, plan.model.rdma_devices)


def _formats(plan: ModelPlan) -> dict[str, str]:
    """What the policies on sizes go by, as the command line names neither checkpoint nor format."""
    own = plan.model.config or plan.model.shape
    weights = {"railwright.dev/weights-gib": f"{plan.memory.weights * plan.layout.gpus / GIB:.2f}"}
    notes = weights if own else {"railwright.dev/checkpoint": plan.shape.name}
    if plan.format.weights != "bf16":
        notes["railwright.dev/quantisation"] = plan.format.weights
    said = (
        f"{score.task} {score.date}: lost {score.loss:.4g} of {score.allowed_loss:.4g} allowed" for score in plan.scores
    )
    return notes | ({"railwright.dev/evidence": "; ".join(said)} if plan.scores else {})


def _pod(plan: ModelPlan) -> Manifest:
    pod: Manifest = {
        "serviceAccountName": plan.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": plan.shutdown.grace,
        **constraints(plan, labels(plan)),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan)],
        "volumes": _volumes(plan),
    }
    if runtime_class := plan.model.runtime_class or plan.pool.runtime_class:
        pod["runtimeClassName"] = runtime_class
    if (fabric := _fabric(plan)).daemon:
        pod["initContainers"] = [daemon(fabric)]
    return pod


def _container(plan: ModelPlan) -> Manifest:
    ready = {"httpGet": {"path": plan.engine.ready_path, "port": "http"}}
    capabilities: Manifest = {"drop": ["ALL"]}
    if rights := _fabric(plan).capabilities:
        capabilities["add"] = list(rights)
    return {
        "name": plan.model.engine,
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": command(plan),
        "args": arguments(plan),
        "env": _env(plan),
        "ports": [{"name": "http", "containerPort": plan.engine.port}],
        "resources": _resources(plan),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": capabilities,
            # GPU containers need a writable root: the CDI hook updates the linker cache in it.
            "readOnlyRootFilesystem": plan.pool.board.gpu is None,
        },
        "startupProbe": _startup_probe(plan, ready),
        "readinessProbe": ready | _probe(5, 5, 3),
        # A busy engine is not a dead one: half a minute of silence before a restart.
        "livenessProbe": {"httpGet": {"path": "/health", "port": "http"}} | _probe(10, 5, 6),
        "lifecycle": {"preStop": {"sleep": {"seconds": plan.shutdown.pre_stop}}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": _mounts(plan),
    }


def _startup_probe(plan: ModelPlan, ready: Manifest) -> Manifest:
    """Ready by itself, or once the first prompt is read; a try is short of the budget either way."""
    first, patience = plan.first_prompt, plan.first_prompt.patience
    if not first.tokens:
        return ready | _probe(PROBE_SECONDS, 5, ceil(plan.startup.budget / PROBE_SECONDS))
    numbers = (first.tokens, first.prompts, plan.shape.vocab, patience)
    asked = [str(plan.engine.port), plan.engine.ready_path, *(str(number) for number in numbers)]
    argv = [interpreter(plan), "-c", inspect.getsource(startup_probe), *asked]
    # The script gives up by itself, first on the model and then on the answer, and can say which it was.
    return {"exec": {"command": argv}} | _probe(PROBE_SECONDS, 2 * patience + 10, ceil(plan.startup.budget / patience))


def _probe(period: int, timeout: int, failures: int) -> Manifest:
    return {"periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}


def _env(plan: ModelPlan) -> list[Manifest]:
    fixed = [{"name": name, "value": value} for name, value in environment(plan).items()]
    pod_ip = {"name": "VLLM_HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return [*fixed, pod_ip]


def _resources(plan: ModelPlan) -> Manifest:
    devices: dict[str, str] = {}
    if plan.pool.board.gpu:
        devices["nvidia.com/gpu"] = str(plan.layout.gpus)
    devices |= _fabric(plan).resources
    if pages := _fabric(plan).huge_pages_mib:
        devices["hugepages-2Mi"] = f"{pages}Mi"
    memory = f"{plan.pod_memory.limit // MIB}Mi"
    requests = {"cpu": f"{round(plan.cpus * 1000)}m", "memory": memory, "ephemeral-storage": "1Gi", **devices}
    return {"requests": requests, "limits": {"memory": memory, **devices}}


def _mounts(plan: ModelPlan) -> list[Manifest]:
    mounts: list[Manifest] = [
        {"name": "weights", "mountPath": MODEL_PATH, "readOnly": True},
        {"name": "cache", "mountPath": CACHE_PATH},
        {"name": "tmp", "mountPath": TMP_PATH},
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108  the container's own memory volume
    ]
    if plan.model.weights.claim:
        mounts[0]["subPath"] = "weights"
        mounts[1] |= {"name": "weights", "subPath": f"compile/{cache_key(plan)}"}
    if engine := plan.model.engine_mount:
        mounts.append({"name": "engine", "mountPath": engine.mount_path, "readOnly": True})
    folders = _fabric(plan).folders
    return mounts + [{"name": each.name, "mountPath": each.mount, "readOnly": each.read_only} for each in folders]


def _volumes(plan: ModelPlan) -> list[Manifest]:
    weights = plan.model.weights
    volumes: list[Manifest] = [
        {"name": "tmp", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{plan.pod_memory.shm // MIB}Mi"}},
    ]
    if weights.claim:
        volumes.append({"name": "weights", "persistentVolumeClaim": {"claimName": weights.claim}})
    else:
        volumes += [{"name": "weights", "hostPath": {"path": plan.weights_path}}, {"name": "cache", "emptyDir": {}}]
    if plan.engine_path:
        volumes.append({"name": "engine", "hostPath": {"path": plan.engine_path}})
    fabric = _fabric(plan)
    folders = (*fabric.folders, *(DAEMON_FOLDERS if fabric.daemon else ()))
    return volumes + [{"name": each.name, "hostPath": {"path": each.path}} for each in folders]


def cache_key(plan: ModelPlan) -> str:
    """Folder of compiled kernels: they hold for one image on one GPU only."""
    gpu = plan.pool.board.gpu.name if plan.pool.board.gpu else "cpu"
    return f"{plan.image.rpartition(':')[2][:12]}-{gpu}"
