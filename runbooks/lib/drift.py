"""What the cluster has otherwise than the plan: only what the plan says is compared, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.plan.manifests import gateway, model
from infra.plan.manifests.cluster import callers
from runbooks.lib.kubernetes.views import amount

if TYPE_CHECKING:
    from infra.plan.facts import Plan
    from infra.plan.manifests.base import Manifest
    from runbooks.lib.kubernetes import Kubernetes

CONFIG_DIGEST = "railwright.dev/config-digest"
"""Annotation that follows from the keys, whose values a plan does not hold."""

_HIDDEN = ("Secret",)
"""Kinds whose content is not known offline."""

_MERGE_KEYS = ("mountPath", "name", "key", "topologyKey", "containerPort", "port")
"""By what entries of a list are told apart, the first that all have."""

_QUANTITIES = ("requests", "limits", "sizeLimit")
"""Fields whose values are quantities: ``1000m`` is ``1``."""

_ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as planned."""

    namespace: str
    kind: str
    name: str
    path: str
    planned: Any
    live: Any

    def __str__(self) -> str:
        who = f"{self.kind.lower()} {self.namespace}/{self.name}"
        return f"{who}: {tell(self.path or 'the object', self.planned, self.live)}"


def tell(path: str, planned: Any, live: Any) -> str:
    """Say what is different, of long lists only what came and went."""
    if isinstance(planned, list) and isinstance(live, list) and set(map(str, planned)) != set(map(str, live)):
        came, went = [e for e in live if e not in planned], [e for e in planned if e not in live]
        parts = [f"has {came} too"] if came else []
        return f"{path} {' and '.join([*parts, f'lacks {went}'] if went else parts)}"
    return f"{path} is {live!r}, planned {planned!r}"


def manifests(plan: Plan) -> Iterator[Manifest]:
    """Objects of all models and the gateway, as far as a plan knows them offline."""
    for item in plan.models:
        yield from model.objects(item, callers(plan)).values()
    yield from (found for found in gateway.objects(plan.gateway, "", "").values() if found["kind"] not in _HIDDEN)


def deployment(plan: Plan, namespace: str, name: str) -> Manifest | None:
    """The planned Deployment of this name; None where the plan has none."""
    for found in manifests(plan):
        meta = found["metadata"]
        if found["kind"] == "Deployment" and (meta["namespace"], meta["name"]) == (namespace, name):
            return found
    return None


def differences(plan: Plan, kube: Kubernetes) -> list[Difference]:
    """Everything that the cluster has otherwise than planned, objects that are missing included."""
    found: list[Difference] = []
    for wanted in manifests(plan):
        meta = wanted["metadata"]
        live = kube.get(wanted["apiVersion"], wanted["kind"], meta["namespace"], meta["name"])
        where = (meta["namespace"], wanted["kind"], meta["name"])
        if live is None:
            found.append(Difference(*where, "", "there", _ABSENT))
            continue
        for part in sorted(wanted.keys() - {"apiVersion", "kind", "metadata"}):
            found += [Difference(*where, *each) for each in compare(wanted[part], live.get(part), part)]
    return found


def compare(planned: Any, live: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, planned and live value of each field that differs; what is not planned may be anything."""
    if path.endswith(CONFIG_DIGEST) or (not planned and not live):
        return
    if isinstance(planned, Mapping) and isinstance(live, Mapping):
        for key, value in planned.items():
            yield from compare(value, live.get(key), f"{path}.{key}")
    elif isinstance(planned, Sequence) and isinstance(live, Sequence) and not isinstance(planned, str):
        yield from _lists(planned, live, path)
    elif not _same(planned, live, path):
        yield path, planned, _ABSENT if live is None else live


def _lists(planned: Sequence[Any], live: Sequence[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    key = next((k for k in _MERGE_KEYS if all(isinstance(e, Mapping) and k in e for e in (*planned, *live))), None)
    if key is None:
        if len(planned) != len(live) or any(
            True for a, b in zip(planned, live, strict=True) for _ in compare(a, b, path)
        ):
            yield path, planned, live
        return
    wanted, found = {entry[key]: entry for entry in planned}, {entry[key]: entry for entry in live}
    for name, entry in wanted.items():
        if name not in found:
            yield f"{path}[{name}]", entry, _ABSENT
        else:
            yield from compare(entry, found[name], f"{path}[{name}]")
    for name in found.keys() - wanted.keys():
        yield f"{path}[{name}]", _ABSENT, found[name]


def _same(planned: Any, live: Any, path: str) -> bool:
    if planned == live:
        return True
    fields = path.split(".")
    if live is not None and any(field in _QUANTITIES for field in fields[-2:]):
        return amount(planned) == amount(live)
    return False
