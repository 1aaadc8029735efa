"""What is wrong with a pod, from what Kubernetes says of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runbooks.lib.diagnosis.finding import Finding

if TYPE_CHECKING:
    from runbooks.lib.kubernetes.views import Container, Event, Pod

IMAGE = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError")
"""Reasons for which a container waits because of its image. Source: kubelet 1.36, pkg/kubelet/images/types.go."""

CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
"""Reasons for which it waits because of its settings. Source: as above, pkg/kubelet/container/sync_result.go."""

RECENT = timedelta(minutes=15)
"""An end of a container this long ago is still told. Source: window of the alert EngineCrashLooping at pace 1."""

REPLACE, TAKE_BACK = ("replace_pod",), ("roll_back",)


def faults(pod: Pod, events: Sequence[Event], now: datetime, *, budget: timedelta) -> Iterator[Finding]:
    """Yield what is wrong with one pod; nothing for one that is ready and stays so.

    Args:
        events: of this pod, newest first.
        budget: how long it may take to become ready.
    """
    if pod.deleting:
        yield Finding("leaving", f"pod {pod} is on its way out", about=pod.name)
        return
    if not pod.host:
        yield _no_place(pod)
        return
    told = [one for container in pod.containers if (one := _container(pod, container, now)) is not None]
    yield from told
    stuck = _mount(pod, events)
    if stuck is not None:
        yield stuck
    elif not told and not pod.ready:
        yield _not_ready(pod, events, now, budget)


def ended(code: int | None, reason: str) -> str:
    """Say how a container ended: by a signal, for want of memory, or by itself."""
    if reason == "OOMKilled":
        return "killed for want of memory (OOMKilled)"
    if code is not None and code > 128:
        number = code - 128
        try:
            return f"ended by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            return f"ended by signal {number}"
    return f"ended with exit code {code}"


def _container(pod: Pod, container: Container, now: datetime) -> Finding | None:
    who = f"container {container.name} of pod {pod}"
    if container.state == "waiting" and container.reason in IMAGE:
        image = next((c["image"] for c in pod.raw["spec"]["containers"] if c["name"] == container.name), "?")
        said = f"image {image} of {who} cannot be pulled ({container.reason})"
        return Finding("image", said, pod.created, TAKE_BACK, pod.name)
    if container.state == "waiting" and container.reason in CONFIG:
        said = f"{who} cannot be created ({container.reason}: {container.message})"
        return Finding("config", said, pod.created, TAKE_BACK, pod.name)
    if container.state == "terminated" and container.exit_code not in (None, 0):
        how = ended(container.exit_code, container.reason)
        return Finding("ended", f"{who} {how}", container.since, (*REPLACE, *TAKE_BACK), pod.name)
    last = container.last_ended
    if container.restarts and last is not None and now - last <= RECENT:
        how, times = ended(container.last_exit_code, container.last_reason), container.restarts
        if container.last_exit_code == 0 and times == 1:
            return Finding("restarted", f"{who} ended by itself and began again, once", last, (), pod.name)
        said = f"{who} {how}, {times} restart{'s' if times > 1 else ''} within {_age(now - pod.created)}"
        looping = container.reason == "CrashLoopBackOff" or times > 1
        return Finding("crash loop" if looping else "ended", said, last, (*REPLACE, *TAKE_BACK), pod.name)
    return None


def _no_place(pod: Pod) -> Finding:
    condition = pod.conditions.get("PodScheduled")
    why = condition.message if condition is not None and condition.message else "the scheduler has not said why"
    said = f"pod {pod} has no host: {why}"
    return Finding("no place", said, pod.created, ("roll_back",), pod.name)


def _mount(pod: Pod, events: Sequence[Event]) -> Finding | None:
    """Find the volume that a pod waits for; only events tell."""
    if any(container.state == "running" for container in pod.containers):
        return None
    for event in events:
        if event.reason in ("FailedMount", "FailedCreatePodSandBox"):
            said = f"pod {pod} cannot be set up: {event.reason}: {event.message}"
            return Finding("mount", said, pod.created, TAKE_BACK, pod.name)
    return None


def _not_ready(pod: Pod, events: Sequence[Event], now: datetime, budget: timedelta) -> Finding:
    condition = pod.conditions.get("Ready")
    since = condition.since if condition is not None and condition.since else pod.created
    probe = next((event.message for event in events if event.reason == "Unhealthy"), "")
    why = f": {probe}" if probe else ""
    if now - pod.created <= budget:
        said = f"pod {pod} is starting, for {_age(now - pod.created)} of the {_age(budget)} it may take{why}"
        return Finding("starting", said, since, (), pod.name)
    return Finding("not ready", f"pod {pod} runs and is not ready{why}", since, REPLACE, pod.name)


def _age(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
