"""Roll a model out with an image that exists nowhere."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.plan.manifests.model import NAMESPACE
from runbooks.drills import _pods
from runbooks.drills._engine import EngineFault
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects, Left

if TYPE_CHECKING:
    from runbooks.engine.context import Context

NOWHERE = "sha256:" + "0" * 64
"""Digest that no image has."""


class MissImage(EngineFault):
    """Roll a model out with an image that exists nowhere.

    The rollout stands still at its first pod; the old ones serve on, and no request is lost or cut.
    """

    expects: ClassVar[Expects | None] = Expects(
        "EngineNotStarting", timedelta(seconds=120), "serving/recover_engine", "cannot be pulled|image"
    )

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The model's Deployment."""
        yield Target("deployment", self.model(ctx), NAMESPACE)

    def left(self, ctx: Context) -> Iterable[Left]:
        """All replicas go on."""
        yield _pods.replicas_left(ctx, self.model(ctx), takes=0)

    def fault(self, ctx: Context) -> str:
        """What is rolled out."""
        return f"{ctx.targets[0]} is rolled out with an image that exists nowhere"

    def inject(self, ctx: Context) -> Outcome:
        """Change the image of the template."""
        deployments, name = clients.of(ctx).kube.deployments, ctx.targets[0].name
        template = deployments.get(NAMESPACE, name).template
        ctx.record(name=name, template=template)
        bad = copy.deepcopy(dict(template))
        for container in bad["spec"]["containers"]:
            container["image"] = f"{container['image'].partition('@')[0]}@{NOWHERE}"
        deployments.put_template(NAMESPACE, name, bad)
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Put the template back; the pods of before have never left."""
        if told := ctx.facts.get("break_it", {}):
            clients.of(ctx).kube.deployments.put_template(NAMESPACE, told["name"], told["template"])
        return Outcome.ok("the template is as it was")
