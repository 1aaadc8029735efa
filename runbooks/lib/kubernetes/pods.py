"""Pods: find them, ask them, and take them away in the way that their budgets allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import CheckError, ConfigError
from infra.plan.manifests import gateway, model
from runbooks.lib.kubernetes import meta, views
from runbooks.lib.kubernetes.api import Absent, Api, Later
from runbooks.lib.kubernetes.views import Pod
from runbooks.lib.writing import Result, may

if TYPE_CHECKING:
    from runbooks.engine.context import Context

EVICTION_PAUSE_SECONDS = 2.0
"""Pause before an eviction that a budget refused is tried again (s); kubectl waits 5."""


@dataclass(frozen=True)
class Pods:
    """The pods of one cluster."""

    ctx: Context
    api: Api

    def find(self, namespace: str, name: str) -> Pod | None:
        """One pod, or None where there is none of this name."""
        try:
            return views.pod(self.api.ask(self._path(namespace, name)))
        except Absent:
            return None

    def get(self, namespace: str, name: str) -> Pod:
        """One pod.

        Raises:
            ConfigError: there is none of this name.
        """
        found = self.find(namespace, name)
        if found is None:
            raise ConfigError(f"pod {namespace}/{name} — there is none — see: kubectl get pods -n {namespace}")
        return found

    def list(self, namespace: str = "", *, labels: Mapping[str, str] | None = None, host: str = "") -> list[Pod]:
        """Pods by namespace, labels and host; in the order of their names."""
        chosen = {"labelSelector": meta.selector(labels)} if labels else {}
        chosen |= {"fieldSelector": f"spec.nodeName={host}"} if host else {}
        found = self.api.ask(self._path(namespace), **chosen)
        return sorted(map(views.pod, found["items"]), key=str)

    def of_model(self, name: str, *, deleting: bool = False) -> Sequence[Pod]:
        """Pods that serve a model; those on their way out too, if asked."""
        found = self.list(model.NAMESPACE, labels={"app.kubernetes.io/name": name})
        return [pod for pod in found if deleting or not pod.deleting]

    def of_gateway(self, *, deleting: bool = False) -> Sequence[Pod]:
        """Pods of the gateway."""
        found = self.list(gateway.NAMESPACE, labels={"app.kubernetes.io/name": gateway.NAME})
        return [pod for pod in found if deleting or not pod.deleting]

    def delete(self, namespace: str, name: str, *, grace: int | None = None) -> None:
        """Delete a pod; it may live on for its grace period.

        Args:
            grace: seconds between SIGTERM and SIGKILL, instead of the pod's own; 0 does not even wait for its host.
        """
        pod = self.get(namespace, name)
        if not may(self.ctx, f"delete pod {pod}" + (f" with {grace} s of grace" if grace is not None else "")):
            return
        # The uid keeps a pod that took over the name meanwhile from being hit.
        options = {"preconditions": {"uid": pod.uid}} | ({} if grace is None else {"gracePeriodSeconds": grace})
        self.api.send("DELETE", self._path(namespace, name), options)
        self._check_leaves(pod)

    def evict(self, namespace: str, name: str, *, timeout: timedelta) -> None:
        """Delete a pod as soon as its disruption budget lets it go.

        Raises:
            CheckError: the budget held it until the timeout.
        """
        pod = self.get(namespace, name)
        if not may(self.ctx, f"evict pod {pod}"):
            return

        def try_once() -> bool | None:
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": namespace},
                "deleteOptions": {"preconditions": {"uid": pod.uid}},
            }
            try:
                self.api.send("POST", f"{self._path(namespace, name)}/eviction", body)
            except Absent:
                return True
            except Later:
                self.ctx.say(f"pod {pod} waits for its disruption budget")
                return None
            return True

        what = f"pod {pod} is let go by its disruption budget (else add a replica or host first)"
        self.ctx.until(try_once, timeout=timeout, every=EVICTION_PAUSE_SECONDS, what=what)
        self._check_leaves(pod)

    def until_gone(self, namespace: str, name: str, uid: str, *, timeout: timedelta) -> None:
        """Wait until this very pod is gone, whoever bears its name then."""

        def gone() -> bool | None:
            found = self.find(namespace, name)
            return True if found is None or found.uid != uid else None

        self.ctx.until(gone, timeout=timeout, what=f"pod {namespace}/{name} is gone")

    def annotate(self, namespace: str, name: str, values: Mapping[str, str | None]) -> None:
        """Set annotations; None removes one."""
        meta.patch(self.ctx, self.api, f"pod {namespace}/{name}", self._path(namespace, name), "annotations", values)

    def label(self, namespace: str, name: str, values: Mapping[str, str | None]) -> None:
        """Set labels; None removes one."""
        meta.patch(self.ctx, self.api, f"pod {namespace}/{name}", self._path(namespace, name), "labels", values)

    def logs(
        self, namespace: str, name: str, *, tail: int = 200, previous: bool = False, container: str = ""
    ) -> Sequence[str]:
        """Last lines that a container printed, or that the run before this one did."""
        params = {"tailLines": str(tail)} | ({"previous": "true"} if previous else {})
        params |= {"container": container} if container else {}
        return self.api.call("GET", f"{self._path(namespace, name)}/log", params=params).splitlines()

    def ask(
        self, namespace: str, name: str, argv: Sequence[str], *, container: str = "", timeout: float = 30.0
    ) -> Result:
        """Run a command that changes nothing; a dry run does so too."""
        return self.api.execute(namespace, name, argv, container, timeout)

    def exec(
        self, namespace: str, name: str, argv: Sequence[str], *, container: str = "", timeout: float = 30.0
    ) -> Result:
        """Run a command that may change something; a dry run says so and reports success."""
        if not may(self.ctx, f"run in pod {namespace}/{name}: {' '.join(argv)}"):
            return Result(0, "", "")
        return self.api.execute(namespace, name, argv, container, timeout)

    def http(self, namespace: str, name: str, port: int, path: str) -> str:
        """Get a page of a pod by way of the API server."""
        return self.api.call("GET", f"{self._path(namespace, f'{name}:{port}')}/proxy/{path.lstrip('/')}")

    def _check_leaves(self, pod: Pod) -> None:
        found = self.find(pod.namespace, pod.name)
        if found is not None and found.uid == pod.uid and not found.deleting:
            raise CheckError(f"pod {pod} — was deleted and is still there, not leaving — see its finalizers")

    @staticmethod
    def _path(namespace: str, name: str = "") -> str:
        return f"/api/v1{f'/namespaces/{namespace}' if namespace else ''}/pods{f'/{name}' if name else ''}"
