"""Alerts of engines: replicas that are missing, crash, hang or do not start."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert
from infra.catalog.recordings.recording import renamed

_Alert = partial(Alert, level="service")
_NO_START = (
    "ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|CreateContainerConfigError|CreateContainerError"
)
_IN = 'namespace="models"'
_POD = "^(.+)-[a-z0-9]{5,10}-[a-z0-9]{5}$"
"""Name of a Deployment's pod; its first group is the model."""


def _of_model(expr: str) -> str:
    return renamed(expr, "model", "pod", _POD)


_RESTARTS = f"changes(kube_pod_container_status_restarts_total{{{_IN}}}[<15m>])"
_WAITING = f'kube_pod_container_status_waiting_reason{{{_IN},reason=~"{_NO_START}"}}'
_BORN = (
    f"max by (namespace, pod) (kube_pod_container_state_started{{{_IN}}})"
    f" or max by (namespace, pod) (kube_pod_created{{{_IN}}})"
)
_AGE = f"time() - ({_BORN})"
"""Since its container was started last: an engine that begins anew in an old pod has its startup budget again."""
_UNREADY = (
    f'kube_pod_status_phase{{{_IN},phase="Pending"}} == 1'
    f" or on (namespace, pod) kube_pod_container_status_ready{{{_IN}}} == 0"
    f' and on (namespace, pod) kube_pod_status_phase{{{_IN},phase="Running"}} == 1'
)
"""As its container says: of a host that is silent all pods are called not ready, though their engines go on."""
_STARTED = f"max by (pod) (kube_pod_container_state_started{{{_IN}}})"
_WORKING = (
    "sum by (model, pod) (increase(vllm:generation_tokens_total[<5m>]) + increase(vllm:prompt_tokens_total[<5m>]))"
)
_BEGUN = "sum by (model, pod) (min_over_time(vllm:num_requests_running[<5m>]))"

ENGINES = (
    _Alert(
        "EngineDown", "ticket", hold="2m",
        expr="model:replicas_missing:count > 0",
        summary="{{ $labels.model }} lacks {{ $value }} of its replicas",
        description="Kubernetes calls fewer replicas ready than the plan has; the others carry the load.",
        runbook="serving/recover_engine", drill="kill_engine_pod", source="plan: replicas of the model",
    ),
    _Alert(
        "ModelDown", "page", hold="1m",
        expr="model:replicas_missing:count == plan:replicas:count",
        summary="{{ $labels.model }} has no replica",
        description="No replica is ready: every request for {{ $labels.model }} fails.",
        runbook="serving/recover_engine", source="plan: replicas of the model",
        no_drill="the lab's model has two replicas on two hosts, and no drill takes both",
    ),
    _Alert(
        "EngineCrashLooping", "page", hold="0s",
        expr=f"max by (model, pod) ({_of_model(_RESTARTS)})"
             " >= <restarts>",
        limits={"restarts": 2},
        summary="An engine of {{ $labels.model }} ends again and again",
        description="{{ $labels.pod }} restarted {{ $value }} times within minutes; waiting will not help.",
        runbook="serving/recover_engine",
        source="our choice: one restart is an accident, two within 15 minutes are not",
        no_drill="a start takes 40 s in the lab, so two restarts do not fit into the window at its pace",
    ),
    _Alert(
        "EngineHung", "page", hold="30s",
        # Requests in the batch and no token; or a container that runs on, was scraped, and answers no more.
        expr=f"(({_BEGUN} > 0 unless on (model, pod) {_WORKING} > 0) or on (pod) max by (model, pod)"
             f' (up{{job="vllm"}} == 0 and max_over_time(up{{job="vllm"}}[<5m>]) == 1))'
             f" and on (pod) time() - {_STARTED} > <5m:s>",
        summary="{{ $labels.pod }} of {{ $labels.model }} hangs",
        description="It has requests and makes no token, or its process lives and does not answer.",
        runbook="serving/recover_engine", drill="hang_engine",
        source="our choice: a long prompt is read in less than 5 minutes",
    ),
    _Alert(
        "EngineNotStarting", "page", hold="1m",
        expr=f"max by (model, pod) ({_of_model(_WAITING)})"
             f" == 1 or max by (model, pod) (({_of_model(_AGE)}"
             " > on (model) group_left () plan:startup_seconds:limit)"
             f" and on (namespace, pod) ({_UNREADY}))",
        summary="An engine of {{ $labels.model }} does not start",
        description="{{ $labels.pod }} lacks its image or settings, or took longer than the plan's startup budget.",
        runbook="serving/recover_engine", drill="miss_image", source="plan: startup budget of the model",
    ),
)  # fmt: skip
"""From fewest replicas to none that comes back."""
