"""Deployments: scale, restart, put a template back, and wait until it has come about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, ConfigError
from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.api import MERGE, Absent, Api, Conflict, Object
from runbooks.lib.kubernetes.views import Deployment
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

RESTARTED = "railwright.dev/restarted-at"
"""Annotation on a template whose change replaces all pods; not kubectl's own, so that each can be told apart."""

RETRY = timedelta(seconds=10)
"""How long a write that collides with the controller's is tried again."""


@dataclass(frozen=True)
class Deployments:
    """The Deployments of one cluster."""

    ctx: Context
    api: Api

    def get(self, namespace: str, name: str) -> Deployment:
        """One Deployment.

        Raises:
            ConfigError: there is none of this name.
        """
        try:
            return views.deployment(self.api.ask(self._path(namespace, name)))
        except Absent as error:
            sentence = f"deployment {namespace}/{name} — there is none — see: kubectl get deployments -n {namespace}"
            raise ConfigError(sentence) from error

    def list(self, namespace: str = "") -> list[Deployment]:
        """All Deployments, or those of one namespace, in the order of their names."""
        return sorted(map(views.deployment, self.api.ask(self._path(namespace))["items"]), key=str)

    def scale(self, namespace: str, name: str, replicas: int) -> None:
        """Ask for a number of replicas; does not wait for them."""
        who = f"deployment {namespace}/{name}"
        if not may(self.ctx, f"scale {who} to {replicas} replicas"):
            return
        self.api.send("PATCH", self._path(namespace, name), {"spec": {"replicas": replicas}}, media=MERGE)
        found = self.get(namespace, name).replicas
        if found != replicas:
            raise CheckError(f"{who} — was scaled to {replicas} and wants {found} — see which autoscaler owns it")

    def restart(self, namespace: str, name: str) -> datetime | None:
        """Replace all pods, as the Deployment's strategy has it; gives the time that marks the restart."""
        who, now = f"deployment {namespace}/{name}", datetime.now(UTC).replace(microsecond=0)
        if not may(self.ctx, f"restart {who}"):
            return None
        mark = {RESTARTED: now.isoformat()}
        body = {"spec": {"template": {"metadata": {"annotations": mark}}}}
        self.api.send("PATCH", self._path(namespace, name), body, media=MERGE)
        found = self.get(namespace, name).template["metadata"].get("annotations", {}).get(RESTARTED)
        if found != mark[RESTARTED]:
            raise CheckError(f"{who} — was marked {mark[RESTARTED]} to restart and has {found} — see who writes it")
        return now

    def put_template(self, namespace: str, name: str, template: Mapping[str, Any]) -> None:
        """Replace the whole pod template, such as by the one from before a change.

        Raises:
            CheckError: somebody changed the Deployment at the same time, or something else is there afterwards.
        """
        who, path = f"deployment {namespace}/{name}", self._path(namespace, name)
        if not may(self.ctx, f"put another pod template on {who}"):
            return
        before = self.api.ask(path)["spec"]["template"]

        def put() -> Object:
            live = self.api.ask(path)
            if live["spec"]["template"] != before:
                raise CheckError(f"{who} — somebody else changed it at the same moment — look, and try again")
            live["spec"]["template"] = dict(template)
            live["metadata"].pop("managedFields", None)
            return self.api.send("PUT", path, live)

        # The controller writes its status all the while, which makes a version old without a change of the template.
        written = self.ctx.retry(put, on=Conflict, timeout=RETRY, every=0.2)
        if self.api.ask(path)["spec"]["template"] != written["spec"]["template"]:
            raise CheckError(f"{who} — its template is another than the one just written — see who writes it")

    def until_settled(self, namespace: str, name: str, *, timeout: timedelta) -> Deployment | None:
        """Wait until all replicas wanted are available and none of an older template is left."""

        def settled() -> Deployment | None:
            found = self.get(namespace, name)
            return found if found.is_settled else None

        return self.ctx.until(settled, timeout=timeout, what=f"deployment {namespace}/{name} has settled")

    def replica_sets(self, namespace: str, name: str) -> Sequence[Object]:
        """ReplicaSets of a Deployment, newest first; old ones are kept only until a rollout is over."""
        uid = self.get(namespace, name).raw["metadata"]["uid"]
        found = self.api.ask(f"/apis/apps/v1/namespaces/{namespace}/replicasets")["items"]
        mine = [raw for raw in found if any(e["uid"] == uid for e in raw["metadata"].get("ownerReferences", []))]
        return sorted(mine, key=lambda raw: str(raw["metadata"]["creationTimestamp"]), reverse=True)

    @staticmethod
    def _path(namespace: str, name: str = "") -> str:
        return f"/apis/apps/v1{f'/namespaces/{namespace}' if namespace else ''}/deployments{f'/{name}' if name else ''}"
