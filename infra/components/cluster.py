"""A cluster as it is, for what no resource can tell: read only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pulumi
import yaml
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError as KubeconfigError
from lightkube.generic_resource import create_global_resource
from lightkube.resources.apps_v1 import DaemonSet
from lightkube.resources.core_v1 import Node, Pod

from infra.errors import CheckError, Unknown
from infra.plan import allocatable
from infra.plan.labels import POOL_LABEL

PAUSE_SECONDS = 5.0
"""Between two looks (seconds)."""

TOLD_SECONDS = 60.0
"""Between two words on what is still waited for (seconds)."""

UNREACHABLE = (Unknown, httpx2.HTTPError)
"""Errors after which nothing of a cluster can be told; lightkube 1 raises those of httpx2, which are not httpx's."""

NOT_FOUND = 404
"""HTTP status of an object, or a kind, that is not there."""

TOLD_PODS = 3
"""Pods that are named when a wait is over (count)."""

Look = Callable[[], Iterator[str]]
"""Reads what is in the way, as ``<namespace>/<pod> on <host>: <reason>``."""

_POLICY = create_global_resource("nvidia.com", "v1", "ClusterPolicy", "clusterpolicies")


class Cluster:
    """What is read of a cluster, as plain data."""

    def __init__(self, kubeconfig: str) -> None:
        """Reach it by the path or the content of a kubeconfig.

        Raises:
            Unknown: it cannot be read, so that nothing of the cluster can be told.
        """
        try:
            content = kubeconfig if "\n" in kubeconfig or kubeconfig.startswith("{") else Path(kubeconfig).read_text()
            self._client = Client(config=KubeConfig.from_dict(yaml.safe_load(content)))
        except (OSError, yaml.YAMLError, KubeconfigError, AttributeError, KeyError, TypeError) as error:
            raise Unknown(f"kubeconfig — cannot be read ({error}) — name one that works") from error

    def nodes(self, selector: dict[str, str]) -> list[dict[str, Any]]:
        """Hosts with these labels."""
        return [dict(item.to_dict()) for item in self._client.list(Node, labels=dict(selector))]

    def daemon_sets(self, namespace: str, selector: dict[str, str]) -> list[dict[str, Any]]:
        """DaemonSets of a namespace, or with ``*`` of all."""
        found = self._client.list(DaemonSet, namespace=namespace, labels=dict(selector))
        return [item.to_dict() for item in found]

    def pods(self, namespace: str) -> list[dict[str, Any]]:
        """Pods of a namespace."""
        return [dict(item.to_dict()) for item in self._client.list(Pod, namespace=namespace)]

    def cluster_policy(self) -> dict[str, Any] | None:
        """The GPU Operator's one policy; None as long as there is none, or no such kind."""
        try:
            return next((dict(item) for item in self._client.list(_POLICY)), None)
        except httpx2.HTTPStatusError as error:
            # Of a group that nobody has registered the API server says so in plain text.
            if error.response.status_code == NOT_FOUND:
                return None
            raise


async def reach(kubeconfig: pulumi.Input[str]) -> Cluster | None:
    """The cluster; None where it does not exist yet.

    Args:
        kubeconfig: path or content, known after the cluster is made.
    """
    known = await pulumi.Output.from_input(kubeconfig).future()
    return Cluster(known) if known else None


def lacking_of(cluster: Cluster, wanted: Iterable[allocatable.Wanted]) -> Iterator[str]:
    """Yield each resource that fewer hosts of its pool than wanted give out whole; hosts are read pool by pool."""
    for want in wanted:
        yield from allocatable.lacking(cluster.nodes({POOL_LABEL: want.pool}), [want])


async def wait(lacking: Callable[[], Iterator[str]], what: str, seconds: float, look: Look) -> None:
    """Wait until nothing is lacking.

    Args:
        lacking: what is, read anew at each call.
        what: is waited for, in words.
        seconds: longest wait.
        look: pods that are in the way, each with its reason.
    Raises:
        CheckError: something still is when the time is over, or cannot come any more.
    """
    started = told = time.monotonic()
    while True:
        try:
            missing = await asyncio.to_thread(lambda: list(lacking()))
        except httpx2.HTTPError as error:
            missing = [f"the API server does not answer ({error})"]
        now = time.monotonic()
        if not missing:
            return
        if now - started > seconds:
            raise CheckError(
                f"{what} — after {seconds / 60:.0f} minutes {'; '.join(missing)} — all of it was expected — "
                f"look at {await asyncio.to_thread(_told, look)}, then run `pulumi up` again"
            )
        if now - told > TOLD_SECONDS:
            told = now
            pulumi.log.info(f"{what}: {missing[0]}", ephemeral=True)
        await asyncio.sleep(PAUSE_SECONDS)


def _told(look: Look) -> str:
    try:
        found = list(look())
    except httpx2.HTTPError as error:
        return f"the API server, which does not answer ({error})"
    more = [f"{len(found) - TOLD_PODS} more"] if len(found) > TOLD_PODS else []
    return ", ".join([*found[:TOLD_PODS], *more]) or "the labels of its hosts: all of its pods are ready"
