"""RW-201: the grace period covers preStop, drain and teardown, and the longest answer finishes within it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.units import duration
from policies.engine import flags, runs_vllm
from policies.field import NUMBER, Field, Finding, settle
from policies.resource import POD_TYPES, Resource, annotation, pods, words

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-201", "critical", POD_TYPES, False
TITLE = "the grace period covers preStop, drain and teardown, and the longest answer"
REMEDIATION = (
    "give the engine the longest answer as its drain, and set terminationGracePeriodSeconds above preStop + "
    "drain + teardown"
)

DEFAULT_GRACE = 30
"""Grace period of a pod that names none (seconds). Source: Kubernetes API, PodSpec."""
DEFAULT_TEARDOWN = 10
"""From the last answer to process exit, where the pod does not say (seconds). Source: vLLM, as observed."""
STATED = ("drain-seconds", "teardown-seconds", "longest-answer-seconds", "prestop-seconds")
"""Annotations under railwright.dev/ by which a pod states what its containers do."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What the annotations of a pod state (seconds); None where they do not."""

    drain: float | None
    teardown: float | None
    longest: float | None
    pause: float | None
    """From the start of the preStop hook to the start of the drain."""


def check(resource: Resource) -> Iterator[Finding]:
    """Yield a finding for each pod that would cut answers off when it is told to stop."""
    yield from settle(_pod, *pods(resource))


def _pod(pod: Field) -> Iterator[Finding]:
    """Judge each container by itself: all have the whole grace period, side by side."""
    stated = Stated(*(annotation(pod, name).number() for name in STATED))
    yield from settle(lambda container: _container(pod, container, stated), *pod["spec"]["containers"].each())


def _container(pod: Field, container: Field, stated: Stated) -> Iterator[Finding]:
    told = _told(container)
    if told is None and stated.drain is None and stated.longest is None:
        return
    if told is not None and not NUMBER.fullmatch(told):
        yield Finding("fail", container["args"].path, f"--shutdown-timeout {told!r} is not a plain number of seconds")
        return
    drain = stated.drain if told is None else float(told)
    if told is not None and stated.drain not in (None, drain):
        yield Finding(
            "fail",
            annotation(pod, "drain-seconds").path,
            f"the pod states a drain of {stated.drain:g} s, "
            f"but vLLM runs with --shutdown-timeout {told} (0 when left out, which cuts running answers off)",
        )
    pause = _pause(container, stated)
    if pause is None:
        yield Finding(
            "fail",
            container["lifecycle"]["preStop"].path,
            "how long this hook takes cannot be told; "
            "use the sleep action, or state its time before the drain in railwright.dev/prestop-seconds",
        )
    else:
        yield from _sums(pod, pause, drain or 0, stated)
        yield from _longest(pod, pause, drain, stated.longest)


def _sums(pod: Field, pause: float, drain: float, stated: Stated) -> Iterator[Finding]:
    grace, seconds = _grace(pod)
    teardown = DEFAULT_TEARDOWN if stated.teardown is None else stated.teardown
    if seconds <= (need := pause + drain + teardown):
        yield Finding(
            "fail",
            grace.path,
            f"grace is {seconds:g} s, but preStop {pause:g} s + drain {drain:g} s + "
            f"teardown {teardown:g} s = {need:g} s; it must be above that",
        )


def _longest(pod: Field, pause: float, drain: float | None, longest: float | None) -> Iterator[Finding]:
    grace, seconds = _grace(pod)
    if longest is None:
        return
    if seconds < longest:
        yield Finding(
            "fail",
            grace.path,
            f"grace is {seconds:g} s, but an answer may take {longest:g} s "
            f"({duration(longest)}); it must be at least that",
        )
    if drain is not None and pause + drain < longest:
        yield Finding(
            "fail",
            annotation(pod, "longest-answer-seconds").path,
            f"an answer may take {longest:g} s, but "
            f"the engine stops after preStop {pause:g} s + drain {drain:g} s; a longer grace does not help",
        )


def _grace(pod: Field) -> tuple[Field, float]:
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    seconds = grace.number()
    return grace, DEFAULT_GRACE if seconds is None else seconds


def _told(container: Field) -> str | None:
    """Drain that vLLM is really told to make; None when the container does not run vLLM."""
    return flags(container).get("--shutdown-timeout", "0") if runs_vllm(container) else None


def _pause(container: Field, stated: Stated) -> float | None:
    """Time that the preStop hook takes (seconds); None when it cannot be told."""
    hook = container["lifecycle"]["preStop"]
    if hook.known() is None:
        return 0
    if (seconds := hook["sleep"]["seconds"].number()) is not None:
        return seconds
    if stated.pause is not None:
        return stated.pause
    given = words(hook["exec"])
    naps = [given[at + 1].rstrip("s;") for at, word in enumerate(given[:-1]) if word.rpartition("/")[2] == "sleep"]
    readable = naps and all(NUMBER.fullmatch(nap) for nap in naps)
    return sum(float(nap) for nap in naps) if readable else None
