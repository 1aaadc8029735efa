"""A drill: a fault made on purpose, with what must hold, which alert must fire and which runbook must answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import Unknown
from runbooks.engine.context import Context
from runbooks.engine.model import Outcome, Runbook, step
from runbooks.lib import clients
from runbooks.lib.drill import answer, health, pages, report, traces
from runbooks.lib.drill.claims import Expects, Holds, Left
from runbooks.lib.drill.timeline import Timeline

if TYPE_CHECKING:
    from runbooks.lib.traffic import Profile


class Drill(Runbook):
    """Base of all drills; a drill fills in the claims, the fault and how to take it back."""

    lock: ClassVar[str] = "{stack}"
    risk: ClassVar[str] = "the fault is real; it is undone at the end, on failure and when interrupted"
    expect: ClassVar[timedelta] = timedelta(minutes=2)
    deadline: ClassVar[timedelta] = timedelta(minutes=10)

    expects: ClassVar[Expects | None] = None
    """None when no alert is due; then ``silent_because`` says why."""
    silent_because: ClassVar[str] = ""
    may: ClassVar[Mapping[str, str]] = {}
    """Pages that the fault may bring too, each with the reason; any other that fires meanwhile fails the drill."""
    forgets: ClassVar[str] = ""
    """Why Prometheus may lose its memory of the fault; empty when it must remember."""
    steady: ClassVar[Holds] = Holds(first_token_s=2.5)
    during: ClassVar[Holds] = Holds()
    after: ClassVar[Holds] = Holds()
    lasts: ClassVar[timedelta] = timedelta(seconds=10)
    """How long the fault stays at least."""
    recovers_within: ClassVar[timedelta] = timedelta(minutes=3)
    is_short: ClassVar[bool] = False
    """Whether it is one of the short set that every test run makes."""
    rate: ClassVar[float] = 1.0
    """Requests per second while the drill runs, unless ``load`` says otherwise."""
    tokens: ClassVar[int] = 24
    """Tokens of each answer."""
    needs_lab: ClassVar[bool] = False
    """Whether the fault can be made on simulated hosts or with the lab's own parts only."""
    not_in_lab: ClassVar[str] = ""
    """Why the lab cannot have this fault; empty when it can."""

    def load(self, ctx: Context) -> Iterable[tuple[float, float | None]]:
        """Rates (1/s) and how long each lasts (s); the last, of None, until the end."""
        return [(self.rate, None)]

    def fault(self, ctx: Context) -> str:
        """One sentence: what is done to which target."""
        raise NotImplementedError

    def inject(self, ctx: Context) -> Outcome:
        """Make the fault; records whatever ``heal`` needs before it writes."""
        raise NotImplementedError

    def heal(self, ctx: Context) -> Outcome:
        """Take the fault back; may run twice, and finds in ``ctx.facts['break_it']`` what was recorded."""
        raise NotImplementedError

    def left(self, ctx: Context) -> Iterable[Left]:
        """Capacity that the fault leaves."""
        return ()

    def judge(self, ctx: Context) -> Iterable[str]:
        """Further claims that must hold at the end, such as counters back at zero; what is broken."""
        return ()

    def refusals(self, ctx: Context) -> Iterator[str]:
        """An unhealthy system, a blast radius above the allowed, a stack that is not for this drill."""
        in_lab = clients.of(ctx).plan.target.name == "lab"
        if self.needs_lab and not in_lab:
            yield f"{self.command()}: this fault needs the lab's parts, stack {ctx.stack!r} is on another target"
        if self.not_in_lab and in_lab:
            yield f"{self.command()}: {self.not_in_lab}"
        yield from health.unhealthy(ctx)
        if self.expects and not self.is_quiet(ctx):
            yield f"alert {self.expects.alert} fires before the fault, which could not be told from its work; wait"
        for left in self.left(ctx):
            if said := left.refusal():
                yield said

    @step("look at the system as it is", writes=False, recheck=True, timeout=timedelta(minutes=40))
    def look(self, ctx: Context) -> Outcome:
        """Remember objects, processes, mounts, interfaces and firewall; at the end nothing may differ."""
        first = ctx.facts.get("look", {}).get("things")
        if first is None:
            # What is on its way out now would be missed later as if the drill had removed it.
            ctx.until(lambda: health.at_rest(ctx), timeout=health.leave_within(ctx), every=2.0, what="pods leaving")
            return Outcome.ok("remembered", things=traces.take(ctx).things)
        before = traces.Traces(first)
        # What is still there after the time that pods may take to go was left behind. A run that was broken off has
        # not waited until its pods are back.
        patience = health.leave_within(ctx) if "recover" in ctx.facts else self.recovers_within
        found = _left(ctx, before, patience.total_seconds())
        return Outcome.fail("left behind: " + "; ".join(found[:5]), left=found) if found else Outcome.ok("as it was")

    @step("steady state under load", writes=False, timeout=timedelta(minutes=3))
    def be_steady(self, ctx: Context) -> Outcome:
        """Send requests and see that clients are served as promised; a dry run only asks once."""
        self.timeline = Timeline()
        if ctx.dry:
            return Outcome.ok(f"would send {self.rate:g} requests/s for {health.BASELINE_SECONDS} s and judge them")
        from runbooks.lib.traffic import TrafficRun

        self.traffic = TrafficRun(self.profile(ctx)).start()
        begun = time.time()
        ctx.sleep(health.BASELINE_SECONDS)
        figures = self.traffic.figures(since=begun)
        broken = list(self.steady.broken(figures))
        if broken:
            self.end_traffic()
            return Outcome.stop("not steady before the fault: " + "; ".join(broken))
        self.timeline.add("steady", f"{figures.requests} requests, none failed")
        return Outcome.ok(f"{figures.requests} requests served", figures=figures)

    @step("make the fault", undo="undo_fault", timeout=timedelta(minutes=12))
    def break_it(self, ctx: Context) -> Outcome:
        """Make the fault."""
        # A resumed run has neither traffic nor timeline of its first process: its claims cannot be judged any more.
        if not ctx.dry and not hasattr(self, "traffic"):
            return Outcome.fail("the run that made the load is gone; the fault is undone, begin the drill anew")
        self.broken_at = time.time()
        self.timeline.add("fault", self.fault(ctx))
        return self.inject(ctx)

    @step("alert fires", writes=False, timeout=timedelta(minutes=6))
    def be_seen(self, ctx: Context) -> Outcome:
        """Keep the fault in for its time, watch the abort rule, and wait for the alert."""
        if ctx.dry:
            return Outcome.ok(f"would wait for {self.expects.alert}" if self.expects else self.silent_because)
        said = self.silent_because
        if self.expects:
            expects = self.expects
            self.seen_labels = self._wait_for(ctx, expects)
            for name in expects.also:
                self._wait_for(ctx, replace(expects, alert=name, labels={}))
            said = ", ".join(event.said for event in self.timeline.events if event.kind == "alert")
        while (rest := self.broken_at + self.lasts.total_seconds() - time.time()) > 0:
            self.safe(ctx)
            ctx.sleep(min(1.0, rest))
        return Outcome.ok(said)

    def _wait_for(self, ctx: Context, expects: Expects) -> dict[str, str]:
        rest = timedelta(seconds=max(0.0, self.broken_at + expects.within.total_seconds() - time.time()))
        seen = ctx.until(lambda: self.fired(ctx, expects), timeout=rest, what=f"{expects.alert} firing")
        self.timeline.add("alert", f"{expects.alert} fired after {time.time() - self.broken_at:.0f} s")
        return dict(seen or {})

    @step("runbook answers", writes=False, timeout=timedelta(minutes=3))
    def be_answered(self, ctx: Context) -> Outcome:
        """Run the runbook of the alert dry: it must end well and name the fault."""
        if self.expects is None or ctx.dry:
            return Outcome.ok(f"would run {self.expects.runbook}" if self.expects else "no alert, no runbook")
        result = answer.ask(ctx, self.expects, getattr(self, "seen_labels", {}))
        self.timeline.add("runbook", f"{self.expects.runbook}: {result.said}")
        return result

    @step("take the fault back", timeout=timedelta(minutes=4))
    def mend(self, ctx: Context) -> Outcome:
        """Take the fault back."""
        outcome = self.heal(ctx)
        if not ctx.dry:
            self.healed_at = time.time()
            self.timeline.add("healed", outcome.said)
        return outcome

    @step("system recovers", writes=False, timeout=timedelta(minutes=6))
    def recover(self, ctx: Context) -> Outcome:
        """Everything is ready again, the alert has resolved, and clients are served as before."""
        if ctx.dry:
            return Outcome.ok(f"would wait up to {self.recovers_within.total_seconds():.0f} s for recovery")
        ctx.until(lambda: health.settled(ctx, self.is_quiet), timeout=self.recovers_within, every=2.0, what="recovery")
        took = time.time() - self.healed_at
        self.timeline.add("recovered", f"{took:.0f} s after the fault was taken back")
        well = time.time()
        ctx.sleep(health.BASELINE_SECONDS)
        self.report = self.traffic.stop()
        broken = [f"during: {said}" for said in self.during.broken(self.report.window(self.broken_at, well))]
        broken += [f"after: {said}" for said in self.after.broken(self.report.window(well, time.time()))]
        broken += [*self.judge(ctx), *pages.unasked(ctx, self)]
        report.write(ctx, self, broken)
        return Outcome.fail("; ".join(broken)) if broken else Outcome.ok(f"recovered after {took:.0f} s")

    def undo_fault(self, ctx: Context) -> Outcome:
        """Undo of the fault, in whichever process: after a failure, a signal, a kill."""
        self.end_traffic()
        return self.heal(ctx)

    def end_traffic(self) -> None:
        """Stop the load if this process made one."""
        if traffic := getattr(self, "traffic", None):
            traffic.stop(drain=0)

    def safe(self, ctx: Context) -> None:
        """The abort rule: end at once when clients suffer more than the drill allows.

        Raises:
            CheckError: they do.
        """
        health.abort_if(self.during, self.traffic.figures(since=self.broken_at))

    def fired(self, ctx: Context, expects: Expects) -> Mapping[str, str] | None:
        """Labels of the alert once it fires; its absence is no answer, an unreachable Prometheus is none either."""
        self.safe(ctx)
        firing = clients.of(ctx).prometheus.firing(expects.alert, **expects.labels)
        # Hosts of a lab share much, so that an alert may fire for others than the target too.
        hurt = {target.name for target in ctx.targets}
        firing.sort(key=lambda alert: hurt.isdisjoint(alert.labels.values()))
        return firing[0].labels if firing else None

    def is_quiet(self, ctx: Context) -> bool:
        """Whether the expected alert has resolved."""
        expects = self.expects
        return not (expects and clients.of(ctx).prometheus.firing(expects.alert, **expects.labels))

    def profile(self, ctx: Context) -> Profile:
        """The load: every model that real hosts serve, every tenant."""
        from runbooks.lib.traffic import LengthSpread, Profile, Segment, tenants_of

        c = clients.of(ctx)
        served = [model.name for model in c.plan.real_models]
        return Profile(
            url=c.gateway.url,
            models=dict.fromkeys(served, 1.0),
            segments=tuple(Segment(rate=rate, seconds=seconds) for rate, seconds in self.load(ctx)),
            tenants=tenants_of(ctx.stack),
            prompt=LengthSpread.of("uniform:8:32"),
            output=LengthSpread.of(str(self.tokens)),
            exact=True,
            timeout_seconds=60,
        )


def _left(ctx: Context, before: traces.Traces, patience: float) -> list[str]:
    """What still differs from an earlier look after so many seconds.

    Raises:
        Unknown: even then parts of the system do not answer, so that nothing can be told.
    """
    end = time.monotonic() + patience
    while True:
        is_last = time.monotonic() >= end
        try:
            found = traces.take(ctx).since(before)
        except Unknown:
            # An API server that has just started puts readers off.
            if is_last:
                raise
            found = ["no answer"]
        if is_last or not found:
            return found
        ctx.sleep(2)
