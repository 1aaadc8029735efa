"""Why requests fail, from what the gateway counts: codes and flags of its answers in words, and who they hit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from runbooks.lib import clients
from runbooks.lib.diagnosis.finding import Finding

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.prometheus import Sample

WINDOW = timedelta(minutes=5)
"""How far back failures are counted, at pace 1. Source: window of the alerts about errors."""

SHORTEST = timedelta(minutes=1)
"""Shortest window, whatever the pace: a few failures must still be in it when somebody looks."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a flag of Envoy means, and what helps."""

    fault: str
    said: str
    offers: tuple[str, ...] = ()


CAUSES: Mapping[str, Cause] = {
    "UH": Cause("no replica", "no replica is ready (UH)", ("restart", "scale_up", "roll_back")),
    "NC": Cause("no replica", "the model is unknown to the gateway's clusters (NC)", ("roll_back",)),
    "UF": Cause("no connection", "replicas cannot be reached: connections fail (UF)", ("replace_pod", "restart")),
    "URX": Cause("no connection", "every retry failed too (URX)", ("replace_pod", "restart")),
    "UC": Cause("replica lost", "replicas closed the connection in the midst of an answer (UC)", ("replace_pod",)),
    "UR": Cause("replica lost", "replicas reset the connection in the midst of an answer (UR)", ("replace_pod",)),
    "UPE": Cause("bad answer", "replicas answered with something that is not HTTP (UPE)", ("roll_back",)),
    "SI": Cause("silent", "replicas said nothing for longer than the idle timeout (SI)", ("replace_pod", "restart")),
    "UT": Cause("silent", "replicas took longer than the longest answer (UT)", ("replace_pod", "scale_up")),
    "UO": Cause("full", "the gateway has no room for more requests at this model (UO)", ("scale_up", "shed_tier")),
    "OM": Cause("full", "the gateway is out of memory and refuses (OM)", ("shed_tier", "restart")),
    "NR": Cause("no route", "no route fits (NR)", ("roll_back",)),
}
"""Source: Envoy 1.40, access log, RESPONSE_FLAGS."""

ENGINE = Cause("engine error", "the engine itself answered so", ("roll_back", "restart"))
OTHER = Cause("other", "for a reason that has no name here")


def window(ctx: Context) -> timedelta:
    """How far back to count: as the alerts of this stack do, but not less than a minute."""
    plan = clients.of(ctx).plan.observability
    return max(SHORTEST, WINDOW * plan.pace) if plan is not None else WINDOW


def failures(ctx: Context, *, model: str = "", tenant: str = "", own: bool = False) -> list[Finding]:
    """What failed within the window, by its cause; none is an answer once the gateway counts at all.

    Args:
        model: of this model only.
        tenant: of this tenant only.
        own: only what no engine answered.
    Raises:
        Unknown: the gateway's counters are not known.
    """
    span = window(ctx)
    chosen = ['code=~"5.."', *(['flags!="-"'] if own else [])]
    names = {name: value for name, value in (("model", model), ("tenant", tenant)) if value}
    chosen += [f'{name}="${name}"' for name in names]
    counter = f"envoy_railwright_responses{{{', '.join(chosen)}}}"
    expression = f"sum by (model, tenant, code, flags) ({_grown(counter)}) > 0.5"
    found = clients.of(ctx).prometheus.samples(expression, needs=("envoy_railwright_requests",), span=span, **names)
    return [tell(sample, span) for sample in sorted(found, key=lambda one: -one.value)]


def cuts(ctx: Context, *, model: str = "", tenant: str = "") -> list[Finding]:
    """Answers that began and did not end within the window."""
    span = window(ctx)
    names = {name: value for name, value in (("model", model), ("tenant", tenant)) if value}
    chosen = ", ".join(f'{name}="${name}"' for name in names)
    counter = f"envoy_railwright_cut{{{chosen}}}"
    expression = f"sum by (model, tenant) ({_grown(counter)}) > 0.5"
    found = clients.of(ctx).prometheus.samples(expression, needs=("envoy_railwright_requests",), span=span, **names)
    return [
        Finding("cut", f"{sample.value:.0f} answers of model {sample.labels.get('model', '-')} to tenant "
                f"{sample.labels.get('tenant', '-')} were cut within {span}", None, ("replace_pod",))
        for sample in found
    ]  # fmt: skip


def shares(found: Iterable[Sample], what: str, *, above: float) -> list[Finding]:
    """Who has a large part of something: each sample's tenant with its share of the sum."""
    every = list(found)
    total = sum(sample.value for sample in every)
    return [
        Finding("tenant", f"tenant {one.labels.get('tenant', '-')} ({one.labels.get('tier', '-')}): "
                f"{one.value / total:.0%} of {what}", None, ("shed_tier",), one.labels.get("tenant", ""))
        for one in sorted(every, key=lambda sample: -sample.value)
        if total > 0 and len(every) > 1 and one.value / total > above
    ]  # fmt: skip


def tell(sample: Sample, span: timedelta) -> Finding:
    """Say one kind of failure in words."""
    labels = sample.labels
    flags = [flag for flag in labels.get("flags", "-").split(",") if flag not in ("-", "")]
    cause = next((CAUSES[flag] for flag in flags if flag in CAUSES), OTHER if flags else ENGINE)
    whom = f"model {labels.get('model', '-')}, tenant {labels.get('tenant', '-')}"
    said = f"{sample.value:.0f} requests ({whom}) ended with {labels.get('code', '?')} within {span}: {cause.said}"
    return Finding(cause.fault, said, None, cause.offers, labels.get("model", ""))


def _grown(counter: str) -> str:
    """What was added, also by series that were born within the window with their first failure."""
    return f"({counter} unless {counter} offset $span) or increase({counter}[$span])"
