"""Roll the gateway out with a config that Envoy refuses."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from infra.plan.manifests.gateway import NAME, NAMESPACE
from runbooks.drills import _pods
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects, Left
from runbooks.lib.drill.model import Drill
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

BAD = f"{NAME}-drill"
"""Secret with the bad config; the good one stays untouched."""

CONFIG = base64.b64encode(b'{"static_resources": {"listeners": [{"name": "drill", "no_such_field": true}]}}\n').decode()
"""JSON that parses, and that Envoy does not know."""


class RollBadConfig(Drill):
    """Roll the gateway out with a config that Envoy refuses.

    The new pod ends again and again; the old ones serve on, and no request is lost or cut.
    """

    expects: ClassVar[Expects | None] = Expects(
        "GatewayConfigRejected", timedelta(seconds=150), "gateway/recover_gateway", "rejects its config"
    )

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The gateway's Deployment."""
        yield Target("deployment", NAME, NAMESPACE)

    def left(self, ctx: Context) -> Iterable[Left]:
        """All pods go on."""
        yield _pods.gateways_left(ctx, takes=0)

    def fault(self, ctx: Context) -> str:
        """What is rolled out."""
        return f"{ctx.targets[0]} is rolled out with a config that Envoy refuses"

    def inject(self, ctx: Context) -> Outcome:
        """Make a Secret with the bad config, and point the template to it."""
        kube = clients.of(ctx).kube
        template = kube.deployments.get(NAMESPACE, NAME).template
        ctx.record(template=template)
        if may(ctx, f"create secret {NAMESPACE}/{BAD}") and kube.get("v1", "Secret", NAMESPACE, BAD) is None:
            # It has all files of the good one, so that Envoy itself refuses and not the kubelet.
            good = kube.get("v1", "Secret", NAMESPACE, NAME) or {"data": {}}
            data = {file: CONFIG if file.endswith(".json") else content for file, content in good["data"].items()}
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": BAD, "namespace": NAMESPACE},
                "data": data,
            }
            kube.api.send("POST", kube.api.path("v1", "Secret", NAMESPACE), body)
        kube.deployments.put_template(NAMESPACE, NAME, pointed(template, BAD))
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Put the template back, and delete the bad config."""
        if told := ctx.facts.get("break_it", {}):
            kube = clients.of(ctx).kube
            kube.deployments.put_template(NAMESPACE, NAME, told["template"])
            if kube.get("v1", "Secret", NAMESPACE, BAD) is not None and may(ctx, f"delete secret {NAMESPACE}/{BAD}"):
                kube.api.send("DELETE", kube.api.path("v1", "Secret", NAMESPACE, BAD))
        return Outcome.ok("the gateway's template is as it was")


def pointed(template: Any, secret: str) -> dict[str, Any]:
    """The template with its config from another Secret."""
    changed = copy.deepcopy(dict(template))
    for volume in changed["spec"]["volumes"]:
        if volume.get("secret", {}).get("secretName") == NAME:
            volume["secret"]["secretName"] = secret
    return changed
