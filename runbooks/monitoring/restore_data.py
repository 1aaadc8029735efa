"""Find why there is no data: Prometheus down, rules that fail, or metrics that the plan expects and nobody reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Background, Finding, given, measures, told
from runbooks.lib.diagnosis.hosts import names
from runbooks.lib.mitigations import Silence, SilenceInputs
from runbooks.monitoring import _pods
from runbooks.monitoring._pods import RestartPod

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.prometheus import Sample

PER_HOST = {
    "hosts": "host:info",
    "node-exporter": "node_memory_MemTotal_bytes or on (host) node_infiniband_state_id",
    "dcgm-exporter": "gpu:temperature_celsius",
}
"""What each host of a pool reports, by the value of the label ``metrics``. Source: recordings/presence.py."""

SHOWN = 3
"""Rules that are told with their error (count)."""


class RestoreData(Background, RestartPod, Silence):
    """Say whether Prometheus lives, which rules fail, and which metrics of the plan are missing and from where."""

    answers = ("MetricsAbsent", "RuleEvaluationFailing", "Watchdog")
    lock = "{stack}"
    risk = "a Prometheus that begins anew is blind until it has read its log"
    expect = timedelta(minutes=3)

    class Inputs(SilenceInputs):
        """What is missing; left out: all that is."""

        metrics: str = Field(default="", description="what is missing: hosts, node-exporter, dcgm-exporter, vllm or up")
        pool: str = Field(default="", description="pool whose hosts should report")
        model: str = Field(default="", description="model whose engines should report")
        job: str = Field(default="", description="job whose targets should be up")
        rule_group: str = Field(default="", description="group whose rules fail")
        do: Literal["nothing", "restart_pod", "silence"] = "nothing"

    @step("whether Prometheus lives", writes=False)
    def alive(self, ctx: Context) -> Outcome:
        """Ask it, and look at its pods when it does not answer."""
        watched = clients.of(ctx).plan.observability
        space = _pods.namespace(ctx)
        ours = watched is not None and watched.installs
        if not clients.of(ctx).prometheus.is_ready():
            said = "Prometheus does not answer or is not ready: no alert can fire"
            return told(
                _pods.silent(ctx, "prometheus", said) if ours else [Finding("down", said, about="prometheus")], ""
            )
        found = _pods.faults(ctx, "prometheus") if ours else []
        return told(found, f"Prometheus in namespace {space} answers")

    @step("which rules fail", writes=False)
    def rules(self, ctx: Context) -> Outcome:
        """Ask for the health and the last error of each rule."""
        if _pods.is_down(ctx):
            return Outcome.ok("not known while Prometheus is down")
        every = clients.of(ctx).prometheus.rules()
        if not every:
            said = "Prometheus has no rules at all: the PrometheusRule is not there, or its labels are not those chosen"
            return told([Finding("no rules", said)], "")
        group = given(ctx).rule_group.rpartition(";")[2]
        bad = [one for one in every if one.health == "err" and group in ("", one.group)]
        found = [
            Finding("rule", f"rule {one.name} of group {one.group} fails: {one.error}", about=one.name)
            for one in bad[:SHOWN]
        ]
        if len(bad) > SHOWN:
            found.append(Finding("rule", f"and {len(bad) - SHOWN} more"))
        return told(found, f"all {len(every)} rules are evaluated")

    @step("what the plan expects and nobody reports", writes=False)
    def missing(self, ctx: Context) -> Outcome:
        """Hold what reports against the plan, and name the hosts and targets that are silent."""
        if _pods.is_down(ctx):
            return Outcome.ok("not known while Prometheus is down")
        prometheus = clients.of(ctx).prometheus
        found = []
        for one in prometheus.samples("metrics:missing:count", needs=("plan:metrics:count",)):
            if all(given_value in ("", one.labels.get(name, "")) for name, given_value in _asked(ctx).items()):
                found += list(_lack(ctx, one))
        return told(found, "all metrics of the plan are reported")

    @step("which targets are down", writes=False)
    def targets_down(self, ctx: Context) -> Outcome:
        """List them; each has its own runbook."""
        if _pods.is_down(ctx):
            return Outcome.ok("not known while Prometheus is down")
        down = [one for one in clients.of(ctx).prometheus.targets() if one.health == "down"]
        shown = ", ".join(f"{one.job}/{one.instance}" for one in down[:SHOWN])
        found = (
            [Finding("targets", f"{len(down)} targets are down ({shown}); see monitoring/restore_target")]
            if down
            else []
        )
        return told(found, "all targets are up")


def _asked(ctx: Context) -> dict[str, str]:
    return {name: getattr(given(ctx), name) for name in ("metrics", "pool", "model", "job")}


def _lack(ctx: Context, one: Sample) -> Iterator[Finding]:
    """Tell one lack: how many, of what, since when, and who is silent."""
    labels = {name: one.labels[name] for name in ("metrics", "pool", "model", "job") if one.labels.get(name)}
    chosen = ", ".join(f'{name}="${name}"' for name in labels)
    since = measures.since(ctx, f"metrics:missing:count{{{chosen}}} > 0", **labels)
    of = next((f"{name} {labels[name]}" for name in ("pool", "model", "job") if name in labels), "the stack")
    what = labels.get("metrics", "?")
    said = f"metrics of {what} are missing: {one.value:g} of those that {of} should have"
    yield Finding("missing", said, since, (), of)
    if what in PER_HOST and "pool" in labels:
        yield from _silent_hosts(ctx, what, labels["pool"])
    elif what == "vllm" and "model" in labels:
        yield Finding("engine", f"see serving/recover_engine for model {labels['model']}", None, (), labels["model"])


def _silent_hosts(ctx: Context, what: str, pool: str) -> Iterator[Finding]:
    kube, prometheus = clients.of(ctx).kube, clients.of(ctx).prometheus
    hosts = kube.hosts.list(pool=pool)
    reports = prometheus.samples(
        f'({PER_HOST[what]}) and on (host) host:info{{pool="$pool"}}', needs=("up",), pool=pool
    )
    heard = {one.labels.get("host", "") for one in reports}
    for host in hosts:
        if host.name in heard:
            continue
        why = "it is ready: look at its exporter" if host.ready else "it is not ready: see host/recover_host"
        yield Finding("silent", f"host {host.name} reports no metrics of {what}; {why}", None, (), host.name)
    planned = next((one.pool.hosts for one in clients.of(ctx).plan.pools if one.name == pool), 0)
    if len(hosts) < planned:
        there = names(host.name for host in hosts) or "none"
        yield Finding(
            "no host", f"pool {pool} has {len(hosts)} of its {planned} planned hosts: {there}", None, (), pool
        )
