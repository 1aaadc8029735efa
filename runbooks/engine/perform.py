"""Do the steps of a run, take back what was started, ask again: the part that must not go wrong."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.engine.audit import Audit
from runbooks.engine.context import Connect, Context, Order
from runbooks.engine.journal import Journal
from runbooks.engine.model import Outcome, Runbook, Step, Target, Verdict
from runbooks.engine.plain import plain
from runbooks.engine.plan import selected
from runbooks.engine.result import Exit, StepResult
from runbooks.engine.screen import Screen
from runbooks.engine.state import Event
from runbooks.engine.stop import Halted, TimedOut
from runbooks.engine.watch import Limits, Watch, Work


@dataclass(frozen=True)
class Stage:
    """What a run is performed on."""

    book: Runbook
    order: Order
    journal: Journal
    audit: Audit
    watch: Watch
    screen: Screen
    connect: Connect
    acts: bool
    """Whether any step of it may write."""


class Performance:
    """One process's part of a run."""

    def __init__(self, stage: Stage, targets: tuple[Target, ...]) -> None:
        self._on, self._targets = stage, targets
        self.steps = selected(type(stage.book), stage.order.inputs)
        self.done: list[StepResult] = []
        self.undone: list[StepResult] = []
        self.rechecked: list[StepResult] = []
        self._hanging: dict[str, Work[Outcome]] = {}

    def play(self) -> tuple[Exit, str]:
        """Do every step that is not done; take back what was started if that does not end well.

        Returns:
            The exit code, and the whole in one sentence.
        """
        try:
            failed = self._go()
        except Exception as error:  # a mistake of the engine's own must not keep it from undoing
            failed = StepResult("engine", "engine", Verdict.FAIL, f"{type(error).__name__}: {error}")
        if failed is None and self._on.acts:
            failed = self._again(heeds_stop=True)
        if failed is None:
            return Exit.DONE, "done" if self._on.acts else self._unwritten
        if self._on.acts and self._on.journal.past.wrote:
            code, said = self.take_back()
            return code, f"{failed.title}: {failed.said}; {said}"
        return _exit_unwritten(failed), f"{failed.title}: {failed.said}; {self._unwritten}"

    def take_back(self) -> tuple[Exit, str]:
        """Undo what was started, last first, and ask again whether all is as it was."""
        failed = {name for name in self._on.journal.past.left if not self._undo(name)}
        # What hung and came back meanwhile may have written after the undo had looked.
        again = [name for name, work in self._hanging.items() if work.has_ended()]
        failed = failed - set(again) | {name for name in again if not self._undo(name)}
        worse = self._again(heeds_stop=False)
        if failed:
            return Exit.UNDO_FAILED, f"undo of {', '.join(sorted(failed))} failed: look at it now"
        if worse is None:
            return Exit.UNDONE, "undone" if self.undone else "nothing to undo"
        if worse.verdict is Verdict.UNKNOWN:
            return Exit.UNKNOWN, f"undone, but whether all is as before cannot be told: {worse.said}"
        return Exit.UNDO_FAILED, f"undone, but it is not as before: {worse.title}: {worse.said}"

    @property
    def _unwritten(self) -> str:
        dry = self._on.order.dry and any(step.writes for step in self.steps)
        return "nothing was written; --yes acts" if dry else "nothing was written"

    @property
    def hanging(self) -> tuple[str, ...]:
        """Steps whose threads are still not back."""
        return tuple(work.name for work in self._on.watch.abandoned if not work.has_ended())

    def _go(self) -> StepResult | None:
        """Do the steps in order; the one that did not end well, or None."""
        context = self._context()
        past = self._on.journal.past
        try:
            for number, step in enumerate(self.steps, start=1):
                if past.verdicts.get(step.name) is Verdict.OK:
                    self._on.screen.line("step", f"{number}/{len(self.steps)} {step.title}: done before")
                    continue
                self._on.screen.line("step", f"{number}/{len(self.steps)} {step.title}")
                if why := self._on.watch.stopped():
                    return StepResult(step.name, step.title, Verdict.STOP, f"stopped by {why}")
                result = self._step(step, context)
                self.done.append(result)
                if result.verdict is not Verdict.OK:
                    return result
        finally:
            context.close()
        return None

    def _step(self, step: Step, context: Context) -> StepResult:
        begun, writes = time.monotonic(), step.writes and self._on.acts
        try:
            # On disk before the step can write anything: its undo is certain from here on.
            self._on.journal.append(Event.STEP, step=step.name, writes=writes)
        except OSError as error:
            return StepResult(step.name, step.title, Verdict.FAIL, f"the journal cannot be written ({error})")
        self._on.audit.note("step", step=step.name, writes=writes)
        context.enter(step, may_write=writes)
        limits = Limits(step.timeout.total_seconds())
        outcome, trace = self._call(step, step.name, context, limits)
        context.leave()
        told = {"step": step.name, "verdict": outcome.verdict, "said": outcome.said}
        self._on.journal.note(Event.OUTCOME, self._warn, **told, facts=outcome.facts, **_traced(trace))
        self._on.audit.note("outcome", **told)
        self._on.screen.line(outcome.verdict.value, outcome.said)
        facts = dict(self._on.journal.past.facts.get(step.name, {}))
        return _result(step, replace(outcome, facts=facts), context, begun)

    def _undo(self, name: str) -> bool:
        """Take one step back; whether that worked."""
        step = {step.name: step for step in type(self._on.book).steps()}.get(name)
        if step is not None and not step.undo:
            self._on.journal.note(Event.UNDONE, self._warn, step=name, verdict=Verdict.OK, said="nothing to undo")
            return True
        if step is None:
            self._on.screen.line(
                "fail", f"{type(self._on.book).__name__} has no step {name!r} any more; undo it by hand"
            )
            return False
        begun, context = time.monotonic(), self._context()
        self._on.screen.line("step", f"undo of {step.title}: {step.undo.replace('_', ' ')}")
        self._on.journal.note(Event.UNDO, self._warn, step=name)
        self._on.audit.note("undo", step=name)
        context.undoing = True
        context.enter(step, may_write=True)
        outcome, trace = self._call(step, step.undo, context, Limits(step.timeout.total_seconds(), heeds_stop=False))
        context.close()
        self.undone.append(_result(step, outcome, context, begun))
        told = {"step": name, "verdict": outcome.verdict, "said": outcome.said}
        self._on.journal.note(Event.UNDONE, self._warn, **told, **_traced(trace))
        self._on.audit.note("undone", **told)
        self._on.screen.line(outcome.verdict.value, outcome.said)
        return outcome.verdict is Verdict.OK

    def _again(self, *, heeds_stop: bool) -> StepResult | None:
        """Ask again what was well before the first write; the first that is not, sure ones before unknown."""
        verdicts = self._on.journal.past.verdicts
        bad: list[StepResult] = []
        for step in self.steps:
            if not step.recheck or verdicts.get(step.name) is not Verdict.OK:
                continue
            begun, context = time.monotonic(), self._context()
            self._on.screen.line("step", f"once more: {step.title}")
            context.enter(step, may_write=False)
            outcome, _ = self._call(step, step.name, context, Limits(step.timeout.total_seconds(), heeds_stop))
            context.close()
            result = _result(step, outcome, context, begun)
            self.rechecked.append(result)
            self._on.journal.note(
                Event.RECHECK,
                self._warn,
                step=step.name,
                verdict=outcome.verdict,
                said=outcome.said,
                facts=outcome.facts,
            )
            self._on.screen.line(outcome.verdict.value, outcome.said)
            if outcome.verdict is not Verdict.OK:
                bad.append(result)
        return min(bad, key=lambda result: result.verdict is Verdict.UNKNOWN, default=None)

    def _call(self, step: Step, method: str, context: Context, limits: Limits) -> tuple[Outcome, str]:
        """Call one method of the runbook, whatever comes of it; the outcome, and the traceback of a surprise."""
        call = self._bound(method, context)
        try:
            with self._on.screen.busy(step.title):
                return self._on.watch.run(step.name, call, limits, context.halt), ""
        except TimedOut as halted:
            self._remember_hanging(step)
            return Outcome.unknown(str(halted)), ""
        except Halted as halted:
            self._remember_hanging(step)
            return Outcome.stop(f"stopped by {halted}"), ""
        except (
            BaseException
        ) as error:  # the engine's top frame: nothing a runbook raises may keep its undo from running
            return _outcome_of(error), traceback.format_exc()

    def _bound(self, method: str, context: Context) -> Callable[[], Outcome]:
        function = getattr(type(self._on.book), method, None)

        def call() -> Outcome:
            if function is None:
                return Outcome.fail(f"there is no {method}() any more in {type(self._on.book).__name__}; undo by hand")
            returned = function(self._on.book, context)
            if not isinstance(returned, Outcome):
                return Outcome.fail(f"{method}() returned {returned!r} — a step must return an Outcome")
            return Outcome(returned.verdict, returned.said, plain(returned.facts))

        return call

    def _remember_hanging(self, step: Step) -> None:
        if self._on.watch.abandoned and self._on.watch.abandoned[-1].name == step.name:
            self._hanging[step.name] = self._on.watch.abandoned[-1]

    def _context(self) -> Context:
        """Make a fresh context with fresh clients: those of a phase that broke off may hang or be broken."""
        context = Context(self._on.order, self._on.journal, self._on.screen, self._on.connect)
        context.targets = self._targets
        return context

    def _warn(self, text: str) -> None:
        self._on.screen.line("warn", text)


def _result(step: Step, outcome: Outcome, context: Context, begun: float) -> StepResult:
    seconds = round(time.monotonic() - begun, 3)
    return StepResult(
        step.name, step.title, outcome.verdict, outcome.said, outcome.facts, tuple(context.wished), seconds
    )


def _traced(trace: str) -> dict[str, str]:
    return {"trace": trace} if trace else {}


def _outcome_of(error: BaseException) -> Outcome:
    if isinstance(error, ConfigError):
        return Outcome.stop("; ".join(error.problems))
    if isinstance(error, Unknown):
        return Outcome.unknown(str(error))
    if isinstance(error, CheckError):
        return Outcome.fail(str(error))
    return Outcome.fail(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _exit_unwritten(failed: StepResult) -> Exit:
    codes = {Verdict.STOP: Exit.REFUSED, Verdict.UNKNOWN: Exit.UNKNOWN}
    return codes.get(failed.verdict, Exit.UNDONE) if failed.verdict else Exit.UNKNOWN
