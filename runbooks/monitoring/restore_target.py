"""Find why a target cannot be scraped, or why Alertmanager hears nothing, and bring it back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.errors import ConfigError, Unknown
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Background, Finding, given, measures, pods, services, told
from runbooks.lib.mitigations import Silence, SilenceInputs
from runbooks.lib.mitigations.start_service import StartService
from runbooks.monitoring import _pods
from runbooks.monitoring._pods import RestartPod

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.prometheus import ScrapeTarget

ELSEWHERE = {"vllm": "serving/recover_engine", "envoy": "gateway/recover_gateway"}
"""Jobs whose pods have a runbook of their own."""


class RestoreTarget(Background, RestartPod, StartService, Silence):
    """Name targets that cannot be scraped, why, since when, and what is wrong with the pod or service behind each."""

    answers = ("PrometheusTargetDown", "AlertmanagerDown")
    lock = "{stack}"
    risk = "a part of the monitoring that begins anew is blind for some seconds"
    expect = timedelta(minutes=2)

    class Inputs(SilenceInputs):
        """Which targets."""

        job: str = Field(default="", description="job; left out: all of them")
        instance: str = Field(default="", description="address or host of the target; left out: all of the job")
        do: Literal["nothing", "restart_pod", "start_service", "silence"] = "nothing"

    @step("which targets cannot be scraped", writes=False)
    def down(self, ctx: Context) -> Outcome:
        """Ask Prometheus for its targets and the last error of each."""
        every = _chosen(ctx)
        found = [_down(ctx, one) for one in every if one.health == "down"]
        return told(
            found, f"{len(every)} targets are scraped" + (f" in job {given(ctx).job}" if given(ctx).job else "")
        )

    @step("what is behind them", writes=False)
    def behind(self, ctx: Context) -> Outcome:
        """Look at pod, host and service of each target that is down."""
        found = list[Finding]()
        for target in _chosen(ctx):
            if target.health == "down":
                found += _behind(ctx, target)
        unique = list({one.said: one for one in found}.values())
        return told(unique, "nothing is behind them that is at fault")

    @step("whether alerts reach Alertmanager", writes=False)
    def messenger(self, ctx: Context) -> Outcome:
        """Ask Alertmanager itself, and Prometheus how many it knows."""
        if given(ctx).job not in ("", "alertmanager"):
            return Outcome.ok("not asked for")
        found = clients.of(ctx)
        known = measures.optional(ctx, "max(prometheus_notifications_alertmanagers_discovered)")
        faults = _pods.faults(ctx, "alertmanager") if _installs(ctx) else []
        try:
            count = len(found.alertmanager.alerts())
        except Exception as error:  # whatever it answers instead of alerts, it is the finding
            said = f"Alertmanager does not answer: {' '.join(str(error).split())[:120]}"
            faults = _pods.silent(ctx, "alertmanager", said) if _installs(ctx) else [Finding("down", said)]
            return told(faults, "")
        if not known:
            faults.append(
                Finding("unknown", "Prometheus knows of no Alertmanager: alerts fire and nobody hears of them")
            )
        return told(faults, f"Alertmanager answers and holds {count} alerts")

    @step("what differs from the plan", writes=False)
    def what_differs(self, ctx: Context) -> Outcome:
        """Compare as far as the API server can be asked; it may be the very target that is down."""
        try:
            return super().what_differs(ctx)
        except Unknown:
            return Outcome.ok("not known while the API server does not answer")


def _installs(ctx: Context) -> bool:
    watched = clients.of(ctx).plan.observability
    return watched is not None and watched.installs


def _chosen(ctx: Context) -> Sequence[ScrapeTarget]:
    """Targets of the inputs.

    Raises:
        ConfigError: Prometheus has none such.
    """
    job, instance = given(ctx).job, given(ctx).instance
    every = clients.of(ctx).prometheus.targets()
    found = [one for one in every if job in ("", one.job) and instance in ("", one.instance)]
    if not found:
        jobs = ", ".join(sorted({one.job for one in every}))
        raise ConfigError(f"target {job}/{instance} — Prometheus has none such — its jobs are {jobs or 'none'}")
    return found


def _down(ctx: Context, target: ScrapeTarget) -> Finding:
    since = measures.since(ctx, 'up{job="$job", instance="$instance"} == 0', job=target.job, instance=target.instance)
    said = f"target {target.job}/{target.instance} {_why(target.error)}"
    if target.job in ELSEWHERE:
        said += f"; see {ELSEWHERE[target.job]}"
    return Finding("target", said, since, (), target.labels.get("pod", target.instance))


def _why(error: str) -> str:
    """The error of a scrape in few words, with its own behind them."""
    for part, words in (
        ("connection refused", "refuses connections: nothing listens there"),
        ("no route to host", "cannot be reached"),
        ("deadline exceeded", "does not answer in time"),
        ("i/o timeout", "does not answer in time"),
        ("401", "does not let Prometheus in"),
        ("403", "does not let Prometheus in"),
    ):
        if part in error:
            return f"{words} ({error})"
    return f"cannot be scraped ({error or 'no reason given'})"


def _behind(ctx: Context, target: ScrapeTarget) -> list[Finding]:
    """What is wrong behind a target: its service, which needs no API server to be asked, or its host and pod."""
    host, name = target.labels.get("host", ""), target.labels.get("pod", "")
    service = services.of_job(ctx, target.job, host)
    found = services.faults(ctx, [service]) if service is not None else []
    if found:
        return found
    if host and not clients.of(ctx).kube.hosts.get(host).ready:
        said = f"host {host}, which the target is on, is not ready; see host/recover_host"
        found.append(Finding("host", said, None, (), host))
    return found + (_pod(ctx, target.labels.get("namespace", ""), name) if name else [])


def _pod(ctx: Context, space: str, name: str) -> list[Finding]:
    kube = clients.of(ctx).kube
    pod = kube.pods.find(space, name)
    if pod is None:
        return [Finding("gone", f"pod {space}/{name} is gone; its target goes too", None, (), name)]
    offers = ("restart_pod",) if _installs(ctx) and space == _pods.namespace(ctx) else ()
    known = list(pods.faults(pod, kube.events.of("Pod", space, name), datetime.now(UTC), budget=_pods.BUDGET))
    if not known:
        said = f"pod {pod} is ready, and its metrics do not answer: it hangs, or a network policy is in the way"
        return [Finding("hung", said, None, offers, name)]
    return [Finding(one.fault, one.said, one.since, offers, one.about) for one in known]
