"""RW-402: no image without digest, no mutable tag, no trust-remote-code without a written reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policies.field import Field, Finding, settle
from policies.resource import POD_TYPES, Resource, annotation, containers, pods

BY_OPERATOR = ("kubernetes:monitoring.coreos.com/v1:Prometheus", "kubernetes:monitoring.coreos.com/v1:Alertmanager")
"""Types of resources from which the prometheus-operator makes pods; without an image it takes one by its version."""

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-402", "critical", (*POD_TYPES, *BY_OPERATOR), False
TITLE = "code that runs is pinned, and code from a checkpoint runs for a reason only"
REMEDIATION = (
    "name the image by digest (name@sha256:...); drop trust-remote-code, or say why it is needed in the "
    "annotation railwright.dev/trust-remote-code-reason"
)

DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
"""An image that cannot change under its name. Source: OCI image specification, descriptor digests."""
TRUST = re.compile(r"(?<!no-)(?<!no_)trust[-_]?remote[-_]?code(?:(?:\s*[=:]\s*|\s+)[\"']?(\w+))?", re.IGNORECASE)
"""The switch in all its spellings, with its value where there is one. Source: vLLM, TGI, TensorRT-LLM, Transformers."""
RELOADER = "--prometheus-config-reloader="
"""Argument by which the prometheus-operator is told the image that it puts into each pod. Source: its flags."""
OFF = ("false", "0", "no", "off")
"""Values that turn a switch off."""
REASON_CHARS = 20
"""Shortest text that can be a reason (characters)."""


def check(resource: Resource) -> Iterator[Finding]:
    """Yield a finding for each image that can change and each switch that lets a checkpoint's code run."""
    if resource.type in BY_OPERATOR:
        yield from settle(lambda spec: _pinned(spec["image"]), resource.inputs["spec"])
    for pod in pods(resource):
        yield from settle(_images, *containers(pod))
        yield from settle(_volume, *pod["spec"]["volumes"].each())
        yield from _trust(pod)


def _images(container: Field) -> Iterator[Finding]:
    yield from _pinned(container["image"])
    for argument in container["args"].each():
        if str(argument.known()).startswith(RELOADER):
            yield from _pinned(Field(str(argument.known()).removeprefix(RELOADER), argument.path))


def _volume(volume: Field) -> Iterator[Finding]:
    if volume["image"].known() is not None:
        yield from _pinned(volume["image"]["reference"])


def _pinned(image: Field) -> Iterator[Finding]:
    name = str(image.known() or "")
    if DIGEST.fullmatch(name):
        return
    tag = name.partition("@")[0].rpartition("/")[2].partition(":")[2] or "latest"
    what = "a digest that is not sha256 with 64 hex digits" if "@" in name else f"the mutable tag {tag!r} and no digest"
    yield Finding("fail", image.path, f"image {name!r} has {what}; the node may run other code than was tested")


def _trust(pod: Field) -> Iterator[Finding]:
    """Find the switch; a reason allows it, an unknown reason leaves it open."""
    switches = [found for container in containers(pod) for found in settle(_switches, container)]
    if not switches:
        return
    reason = annotation(pod, "trust-remote-code-reason")
    if len(str(reason.known() or "").strip()) < REASON_CHARS:
        yield from switches


def _switches(container: Field) -> Iterator[Finding]:
    yield from settle(_environment, *container["env"].each())
    for key in ("command", "args"):
        text = " ".join(str(part.known()) for part in container[key].each())
        if any(_is_on(found) for found in TRUST.finditer(text)):
            yield Finding(
                "fail",
                container[key].path,
                f"container {container['name'].value!r} turns trust-remote-code "
                f"on without a reason of {REASON_CHARS} characters or more",
            )


def _environment(variable: Field) -> Iterator[Finding]:
    name = str(variable["name"].known())
    if TRUST.search(name) and variable["value"].known() not in ("", *OFF, *(word.title() for word in OFF)):
        yield Finding(
            "fail",
            variable.path,
            f"variable {name!r} turns trust-remote-code on without a reason of {REASON_CHARS} characters or more",
        )


def _is_on(found: re.Match[str]) -> bool:
    return (found[1] or "true").lower() not in OFF
