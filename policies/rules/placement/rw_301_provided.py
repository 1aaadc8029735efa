"""RW-301: every resource, network, runtime class and node label a pod asks for is there, from a pool or an operator."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from policies.field import Field, Finding, settle
from policies.networks import asked
from policies.resource import POD_TYPES, Resource, containers, pods
from policies.supply import Hosts, Supply, supply

RULE_ID, SEVERITY, APPLIES_TO, NEEDS_STACK = "RW-301", "high", POD_TYPES, True
TITLE = "what a pod asks of its host is provided by a pool or an operator of this stack"
REMEDIATION = "ask for what a pool provides, or add the pool, the operator or the RuntimeClass that provides it"

NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources of every host. Source: Kubernetes, reserved resource names; hugepages-* as well."""
EVERYWHERE = ("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch")
"""Labels that every kubelet sets. Source: Kubernetes, well-known labels."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a host must have; ``met_by`` tells whether given hosts have it."""

    at: Field
    said: str
    choices: tuple[str, ...]
    """What there is of this kind, for the nearest one."""
    met_by: Callable[[Hosts], bool]


def check(resource: Resource, stack: Sequence[Resource]) -> Iterator[Finding]:
    """Yield a finding for each need that nothing in the stack meets, or that no one pool meets with the others."""
    given = supply(stack)
    yield from settle(lambda pod: _pod(pod, given), *pods(resource))


def _pod(pod: Field, given: Supply) -> Iterator[Finding]:
    runtime = pod["spec"]["runtimeClassName"]
    if runtime.known() not in (None, "", *given.classes):
        yield _missing(runtime, f"runtime class {runtime.value!r}", sorted(given.classes), given)
    yield from settle(lambda field: _networks(field, given), pod)
    needs = [*_resources(pod, given), *_selector(pod, given)]
    terms = list(
        pod["spec"]
        .at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        .each()
    )
    wanted = [list(_term(term, given)) for term in terms] or [[]]
    lacking = [*_unmet(needs, given), *_unmet_terms(wanted, given)]
    for need in lacking:
        yield _missing(need.at, need.said, need.choices, given)
    if not lacking and not any(
        all(need.met_by(hosts) for need in (*needs, *term)) for term in wanted for hosts in _hosts(given)
    ):
        said = ", ".join(need.said for need in (*needs, *wanted[0]))
        yield _missing(pod["spec"], f"one pool with all of {said}", (), given)


def _networks(pod: Field, given: Supply) -> Iterator[Finding]:
    """Multus and GKE hold back a pod that names a network nobody makes."""
    for at, name in asked(pod):
        if name not in given.networks:
            yield _missing(at, f"network {name!r}", sorted(given.networks), given)


_BARE = Hosts("any host", {}, {})
"""A host of which the stack says nothing: it has what every host has, and what operators add."""


def _hosts(given: Supply) -> Iterator[Hosts]:
    yield from (*given.hosts, _BARE)


def _unmet(needs: Sequence[Need], given: Supply) -> list[Need]:
    return [need for need in needs if not any(need.met_by(hosts) for hosts in _hosts(given))]


def _unmet_terms(terms: Sequence[Sequence[Need]], given: Supply) -> list[Need]:
    """List what is missing when no term can be met; one that can is enough."""
    unmet = [_unmet(term, given) for term in terms]
    return [need for term in unmet for need in term] if all(unmet) else []


def _missing(at: Field, said: str, choices: Collection[str], given: Supply) -> Finding:
    """Name a need that nothing meets; not a failure yet while a provider is not known."""
    if given.unsure:
        return Finding(
            "unknown",
            at.path,
            f"{said} may come from {given.unsure[0]}, which is not known until the update; checked again then",
        )
    asked = said.split("'")[1] if "'" in said else ""
    near = difflib.get_close_matches(asked, choices, n=1, cutoff=0.5)
    hint = f"; the nearest there is: {near[0]!r}" if near and near[0] != asked else ""
    return Finding("fail", at.path, f"no pool or operator of this stack provides {said}; the pod would never run{hint}")


def _resources(pod: Field, given: Supply) -> Iterator[Need]:
    """Yield the amounts of extended resources that the containers ask for."""
    offered = tuple(sorted({name for hosts in given.hosts for name in hosts.resources} | given.resources))
    for container in containers(pod):
        asked = dict(entry for part in ("requests", "limits") for entry in container["resources"][part].entries())
        for name, field in asked.items():
            if name in NATIVE or name.startswith("hugepages-") or not (amount := field.number()):
                continue
            most = max((hosts.resources.get(name, 0) for hosts in given.hosts), default=0)
            yield Need(
                field,
                f"resource {name!r} in an amount of {amount:g}, where hosts have {most} at most",
                offered,
                _has_resource(name, amount, name in given.resources),
            )


def _has_resource(name: str, amount: float, plugged: bool) -> Callable[[Hosts], bool]:
    return lambda hosts: hosts.resources.get(name, amount if plugged else 0) >= amount


def _selector(pod: Field, given: Supply) -> Iterator[Need]:
    for key, field in pod["spec"]["nodeSelector"].entries():
        yield _label(field, key, [str(field.known())], given)


def _term(term: Field, given: Supply) -> Iterator[Need]:
    """Yield the labels one term asks for; what must be absent is met by other hosts."""
    for expression in term["matchExpressions"].each():
        if expression["operator"].known() not in ("NotIn", "DoesNotExist"):
            values = [str(value.known()) for value in expression["values"].each()]
            is_in = expression["operator"].known() == "In"
            yield _label(expression, str(expression["key"].known()), values if is_in else [], given)


def _label(at: Field, key: str, values: list[str], given: Supply) -> Need:
    """Need a label, with one of some values when there are any."""
    known = tuple(sorted({f"{label}={value}" for hosts in given.hosts for label, value in hosts.labels.items()}))
    anyway = key in EVERYWHERE or key.startswith(tuple(given.label_starts) or "\0")
    said = f"node label '{key}{'=' + '|'.join(values) if values else ''}'"
    return Need(
        at, said, known, lambda hosts: hosts.labels[key] in values or not values if key in hosts.labels else anyway
    )
