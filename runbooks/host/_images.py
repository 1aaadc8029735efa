"""Images of a host that nothing needs: no container uses them, and the plan does not name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, Unknown
from runbooks.lib import clients
from runbooks.lib.diagnosis import services

if TYPE_CHECKING:
    from infra.plan.facts import Plan
    from runbooks.engine.context import Context


@dataclass(frozen=True, slots=True)
class Image:
    """One image on a host."""

    name: str
    """Reference, or id of one without."""
    size: int
    """Bytes on disk, packed."""


def unused(ctx: Context, host: str) -> Sequence[Image]:
    """Images that can be freed; none in the lab, where every image is built here and cannot be pulled again.

    Raises:
        Unknown: the container runtime does not answer.
    """
    if services.in_lab(ctx):
        return []
    images = _asked(ctx, host, "images")["images"]
    used = {one["imageRef"] for one in _asked(ctx, host, "ps", "--all")["containers"]}
    return chosen(images, used, set(planned(clients.of(ctx).plan)))


def chosen(images: Iterable[Mapping[str, Any]], used: set[str], kept: set[str]) -> list[Image]:
    """Images that are neither used nor kept, whatever of their names is meant."""
    found = []
    for one in images:
        own = {one["id"], *one.get("repoTags", []), *one.get("repoDigests", [])}
        if one.get("pinned") or own & (used | kept):
            continue
        found.append(Image(next(iter(one.get("repoTags", [])), one["id"]), int(one.get("size", 0))))
    return found


def planned(plan: Plan) -> Iterable[str]:
    """References of all images of the plan."""
    yield from (model.image for model in plan.models)
    yield plan.gateway.image
    if plan.observability is not None:
        yield from plan.observability.images.values()


def remove(ctx: Context, host: str, images: Iterable[Image]) -> None:
    """Remove images one by one; the runtime refuses one that came into use meanwhile."""
    for image in images:
        done = clients.of(ctx).hosts.run(host, ["crictl", "rmi", image.name])
        if not done.is_ok:
            raise CheckError(
                f"host {host} — image {image.name} cannot be removed: {done.stderr.strip()} — see: crictl ps"
            )


def _asked(ctx: Context, host: str, *words: str) -> Mapping[str, Any]:
    done = clients.of(ctx).hosts.ask(host, ["crictl", *words, "--output=json"])
    if not done.is_ok:
        raise Unknown(f"host {host} — crictl {words[0]} fails: {done.stderr.strip()} — see that containerd runs")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found
