"""Make the hosts of every pool what the pool says, again and again, from whatever state there is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from urllib3.exceptions import HTTPError

from lab.fleet import hosts
from lab.fleet.cluster import CONNECTIONS, NODES, POOLS, ApiError, Cluster
from lab.fleet.hosts import Object

FINALIZER = "lab.railwright.dev/hosts"
"""Holds a pool that is being deleted until its hosts are gone."""

RESYNC_SECONDS = 15
"""How long a host deleted by hand stays away at most, once all is settled (s)."""

SETTLING_SECONDS = 2
"""How often pools that are not settled are looked at (s); less often where a look takes long."""

REST = 10
"""Pause after a look, in lengths of that look (factor): on a busy machine KWOK needs the API server more than we."""

REVIVE_SECONDS = 60
"""How long pods of a host that came back are looked after (s): the controller-manager marks them as lost with delay."""

BACKOFF_SECONDS = (1.0, 2.0, 5.0)
"""Waits after the first, second, … error in a row (s); the last one repeats."""

log = logging.getLogger("fleet")

T = TypeVar("T")
R = TypeVar("R")


def _edition(pool: Object) -> tuple[str, int]:
    """What is another as soon as somebody wants something else of a pool."""
    return pool["metadata"]["uid"], pool["metadata"]["generation"]


def _finalizers(pool: Object) -> set[str]:
    return set(pool["metadata"].get("finalizers", []))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Controller:
    """Keeps the hosts of all pools of one cluster."""

    def __init__(
        self, cluster: Cluster, now: Callable[[], str] = _now, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cluster, self._now, self._clock = cluster, now, clock
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="fleet")
        self._ready: set[str] = set()
        """Hosts that were ready at the last look; none at the first, so that all count as come back."""
        self._back: dict[str, float] = {}
        """Hosts that came back, and when by the clock (s)."""

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Work for ever; an API server that is away or refuses is asked again later."""
        errors, said = 0, ""
        while True:
            try:
                self.once()
                errors, said = 0, ""
            except (HTTPError, ApiError, OSError) as error:
                wait = BACKOFF_SECONDS[min(errors, len(BACKOFF_SECONDS) - 1)]
                errors += 1
                if str(error) != said:
                    log.warning("tries again until it works: %s", error)
                said = str(error)
                # Hosts may have been lost and found meanwhile, with their pods marked as lost and never as found.
                self._ready = set()
                sleep(wait)

    def once(self) -> None:
        """Look at all pools, act, and wait until one of them changes or it is time to look again."""
        began = self._clock()
        pools, version = self._cluster.pools()
        nodes: dict[str, list[Object]] = {pool["metadata"]["name"]: [] for pool in pools}
        live = self._cluster.nodes()
        for node in live:
            nodes.setdefault(node["metadata"]["labels"][hosts.OWNER], []).append(node)
        settled = [self.reconcile(pool, nodes.pop(pool["metadata"]["name"])) for pool in pools]
        # What is left belongs to pools that went without their finalizer being asked.
        self._remove([node["metadata"]["name"] for orphans in nodes.values() for node in orphans])
        self._revive_pods({node["metadata"]["name"] for node in live if hosts.is_ready(node)})
        seen = {_edition(pool) for pool in pools}
        rest = min(RESYNC_SECONDS, max(SETTLING_SECONDS, round(REST * (self._clock() - began))))
        for event in self._cluster.events(POOLS, version, RESYNC_SECONDS if all(settled) else rest):
            # A new status, our own among them, is no reason to look again.
            if event["type"] != "MODIFIED" or _edition(event["object"]) not in seen:
                return

    def reconcile(self, pool: Object, nodes: Sequence[Object]) -> bool:
        """Bring one pool a step further; True when there was nothing left to do."""
        name = pool["metadata"]["name"]
        if hosts.is_going(pool) and not nodes:
            return self._set_finalizers(pool, _finalizers(pool) - {FINALIZER})
        if not hosts.is_going(pool) and not self._set_finalizers(pool, _finalizers(pool) | {FINALIZER}):
            return False
        todo = hosts.changes(pool, nodes)
        taken = self._create(todo.create)
        self._each(self._update, todo.update)
        self._remove(todo.remove)
        if todo.create or todo.update or todo.remove:
            log.info(
                "pool %s: %d hosts created, %d names taken, %d hosts updated, %d removed",
                name,
                len(todo.create) - len(taken),
                len(taken),
                len(todo.update),
                len(todo.remove),
            )
        status = hosts.status(pool, nodes, todo, taken, self._now())
        if status != pool.get("status"):
            self._cluster.send("PATCH", f"{POOLS}/{name}/status", {"status": status})
        return bool(status["conditions"][0]["status"] == "True")

    def _set_finalizers(self, pool: Object, names: set[str]) -> bool:
        if names == _finalizers(pool):
            return True
        meta = {"finalizers": sorted(names), "resourceVersion": pool["metadata"]["resourceVersion"]}
        return self._cluster.send("PATCH", f"{POOLS}/{pool['metadata']['name']}", {"metadata": meta}) is not None

    def _create(self, new: Sequence[hosts.Host]) -> list[str]:
        made = self._each(lambda host: self._cluster.send("POST", NODES, host.node()), new)
        return [host.name for host, node in zip(new, made, strict=True) if node is None]

    def _update(self, pair: tuple[Object, hosts.Host]) -> None:
        node, host = pair
        path = f"{NODES}/{host.name}"
        # The stamp goes on last: until it is there, an interrupted update is found and done again.
        if patch := hosts.status_patch(node, host):
            changed = self._cluster.send("PATCH", f"{path}/status", patch)
            if changed is None:
                return
            node = changed
        self._cluster.send("PATCH", path, hosts.meta_patch(node, host))

    def _remove(self, names: Sequence[str]) -> None:
        """Take hosts away, and their pods, which nobody would end; their leases belong to them and follow."""
        if not names:
            return
        now = {"gracePeriodSeconds": 0}
        self._each(lambda name: self._cluster.send("DELETE", f"{NODES}/{name}"), names)
        gone = set(names)
        pods = [pod["metadata"] for pod in self._cluster.pods() if pod["spec"].get("nodeName") in gone]
        paths = [f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}" for pod in pods]
        self._each(lambda path: self._cluster.send("DELETE", path, now), paths)

    def _revive_pods(self, ready: set[str]) -> None:
        """Make pods ready again on hosts that came back: KWOK makes a pod ready once, and it has no kubelet."""
        now = self._clock()
        self._back |= dict.fromkeys(ready - self._ready, now)
        self._back = {host: at for host, at in self._back.items() if host in ready and now - at < REVIVE_SECONDS}
        self._ready = ready
        if not self._back:
            return
        lost = [pod for pod in self._cluster.pods() if hosts.must_be_ready_again(pod, self._back.keys())]
        self._each(self._revive, lost)

    def _revive(self, pod: Object) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
        self._cluster.send("PATCH", path, hosts.ready_pod_patch(pod, self._now()))

    def _each(self, do: Callable[[T], R], things: Iterable[T]) -> list[R]:
        return list(self._threads.map(do, things))
