"""Take the last change of a Deployment back.

Railwright keeps no old ReplicaSets, so Kubernetes has nothing to roll back to. Pulumi knows what was before all the
same. A Deployment that differs from what the last update applied was changed by hand, and goes back to that. One that
does not was changed by an update of the stack; Pulumi's history holds the config of the updates before it, from which
the plan of then is made again. Where Pulumi is out of reach, the stack file's own plan has to do.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown
from runbooks.engine.model import Outcome
from runbooks.lib import clients, drift

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Deployment

NAMED = 3
"""Fields named when a change is told (count)."""


@dataclass(frozen=True, slots=True)
class Previous:
    """What a Deployment was before its last change."""

    namespace: str
    name: str
    source: str
    """``last update``, an update before it, or ``plan``."""
    said: str
    """What the change was, in one sentence."""
    template: Mapping[str, Any]


def find(ctx: Context, namespace: str, name: str) -> Previous | None:
    """What was before the last change; None when nothing else is known."""
    found = clients.of(ctx)
    live = found.kube.deployments.get(namespace, name)
    try:
        applied = found.history.applied("Deployment", namespace, name)
        if applied is not None and (previous := _other(applied, live, "last update")) is not None:
            return previous
        for update, plan in list(found.history.plans())[1:]:
            wanted = drift.deployment(plan, namespace, name)
            source = f"update of {update.at:%Y-%m-%d %H:%M} UTC"
            if wanted is not None and (previous := _other(wanted, live, source)) is not None:
                return previous
    except Unknown as error:
        ctx.say(f"falls back on the stack file: {error}")
        wanted = drift.deployment(found.plan, namespace, name)
        return _other(wanted, live, "plan") if wanted is not None else None
    return None


def roll_back(ctx: Context, previous: Previous) -> Outcome:
    """Put the earlier pod template back; records the present one, and does not wait for the rollout."""
    deployments = clients.of(ctx).kube.deployments
    live = deployments.get(previous.namespace, previous.name)
    where = {"namespace": previous.namespace, "name": previous.name}
    ctx.record(rolled_back={**where, "template": dict(live.template)})
    deployments.put_template(previous.namespace, previous.name, previous.template)
    said = f"deployment {live} has the pod template of the {previous.source} again"
    if previous.source.startswith("update of"):
        said += "; the stack file still asks for the newer one: take that back too, before the next `pulumi up`"
    return Outcome.ok(said, source=previous.source)


def undo(ctx: Context, step: str) -> Outcome:
    """Put back what the rollback replaced; may run twice."""
    facts = ctx.facts.get(step, {}).get("rolled_back")
    if not facts:
        return Outcome.ok("nothing was rolled back")
    deployments = clients.of(ctx).kube.deployments
    if deployments.get(facts["namespace"], facts["name"]).template != facts["template"]:
        deployments.put_template(facts["namespace"], facts["name"], facts["template"])
    return Outcome.ok(f"deployment {facts['namespace']}/{facts['name']} has its newer pod template again")


def _other(wanted: Mapping[str, Any], live: Deployment, source: str) -> Previous | None:
    """The pod template of an earlier Deployment, if the live one differs from it."""
    template = copy.deepcopy(wanted["spec"]["template"])
    changed = [drift.tell(*found) for found in drift.compare(template, live.template, "template")]
    if not changed:
        return None
    if digest := live.template["metadata"].get("annotations", {}).get(drift.CONFIG_DIGEST):
        # It tells of the gateway's configuration, which lies in a Secret and does not change with the pods.
        template["metadata"].setdefault("annotations", {})[drift.CONFIG_DIGEST] = digest
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    said = f"deployment {live}: {', '.join(changed[:NAMED])}{more}, against the {source}"
    return Previous(live.namespace, live.name, source, said, template)
