"""One process's attempt at a run: record, plan, consent, lock, steps, end."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.engine.ask import PLAN_S, Asked, ask
from runbooks.engine.audit import Audit, revision
from runbooks.engine.context import Context, Order
from runbooks.engine.history import leftovers
from runbooks.engine.journal import Journal
from runbooks.engine.lock import TTL, Held, Lock, acquire, give_back, held, refusal, utc_now
from runbooks.engine.model import Runbook, Target
from runbooks.engine.options import command_line
from runbooks.engine.perform import Performance, Stage
from runbooks.engine.plain import masked
from runbooks.engine.plan import NOTHING, draw, offers, scope, selected, show
from runbooks.engine.result import Exit, Offer, Result
from runbooks.engine.site import Consent, Site
from runbooks.engine.source import digest
from runbooks.engine.state import Event
from runbooks.engine.stop import Halted, Stop
from runbooks.engine.watch import Limits, Watch


class Attempt:
    """One process at one run."""

    def __init__(self, runbook: type[Runbook], order: Order, site: Site, consent: Consent, stop: Stop) -> None:
        self._type, self._order, self._site, self._consent = runbook, order, site, consent
        self._book, self._screen, self._begun = runbook(), site.screen, time.monotonic()
        self._acts = not order.dry and any(step.writes for step in selected(runbook, order.inputs))
        self._scope = scope(runbook, order.stack, order.inputs)
        self._watch = Watch(stop, runbook.deadline.total_seconds(), self._warn)
        self._audit = Audit(site.runs, order.run_id, self._warn, acts=self._acts)
        self._journal = Journal(order.folder, durable=self._acts)
        self._targets: tuple[Target, ...] = ()

    def close(self) -> None:
        """Let go of the journal."""
        self._journal.close()

    def first(self) -> Result:
        """Begin the run."""
        self._journal.append(Event.RUN, **self._header)
        asked = self._ask()
        asked.collect(self._objections)
        self._targets = asked.targets
        show(draw(self._type, self._order.stack, self._order.inputs, self._targets, acts=self._acts), self._screen)
        if not (asked.reasons or asked.unknown) and self._acts:
            asked.collect(self._type_name)
        if asked.reasons or asked.unknown:
            return self._refuse(asked)
        return self._locked_run() if self._acts else self._play()

    def again(self, *, takes_back: bool) -> Result:
        """Go on where an earlier process of this run ended, or take back what it left."""
        past = self._journal.past
        self._targets = tuple(Target(*target) for target in past.plan.get("targets", ()))
        if takes_back and past.exit is not None and not past.left:
            self._screen.line("note", f"run {self._order.run_id}: nothing is left to undo")
            return self._result(Exit.DONE, "nothing is left to undo")
        try:
            keeper = self._lock()
        except (ConfigError, Halted) as error:
            return self._result(Exit.REFUSED, str(error), refused=_problems(error))
        except Unknown as error:
            if not takes_back:
                return self._result(Exit.UNKNOWN, str(error))
            # The fault to take back may be the very reason: the lock was ours, and undo is what ends the outage.
            self._warn(f"{error}; taking back without it")
            keeper = Held(self._site.locks_of(self._order.stack), self._wanted, self._watch.stop.ask)
        try:
            self._journal.note(Event.AGAIN, self._warn, **self._who, takes_back=takes_back)
            self._audit.note("undo run" if takes_back else "resume", **self._who, **self._why)
            return self._take_back() if takes_back else self._play()
        finally:
            self._release(keeper)

    def _locked_run(self) -> Result:
        """Take the lock, make sure that the plan still holds under it, and perform."""
        asked = Asked(self._targets)
        try:
            keeper = self._lock()
        except (ConfigError, Halted) as error:
            asked.reasons += _problems(error)
            return self._refuse(asked)
        except Unknown as error:
            asked.unknown.append(str(error))
            return self._refuse(asked)
        try:
            asked = self._ask()
            if asked.targets != self._targets and not asked.reasons:
                asked.reasons.append(
                    f"targets — changed since the plan was shown — now {_names(asked.targets)} — run again"
                )
            if not (asked.reasons or asked.unknown):
                asked.collect(self._put_on_record)
            return self._refuse(asked) if asked.reasons or asked.unknown else self._play()
        finally:
            self._release(keeper)

    def _play(self) -> Result:
        if not self._acts:
            self._journal.note(Event.PLAN, self._warn, **self._plan)
        performance = Performance(self._stage, self._targets)
        code, said = performance.play()
        offered = self._offers() if code is Exit.DONE else ()
        return self._end(code, said, performance, offered)

    def _take_back(self) -> Result:
        performance = Performance(self._stage, self._targets)
        code, said = performance.take_back()
        ended = self._end(code, said, performance, ())
        # Who asks for an undo and gets it has what was asked for; the run itself stays recorded as undone.
        return self._result(Exit.DONE, said, performance) if code is Exit.UNDONE else ended

    @cached_property
    def _stage(self) -> Stage:
        return Stage(
            self._book,
            self._order,
            self._journal,
            self._audit,
            self._watch,
            self._screen,
            self._site.connect,
            acts=self._acts,
        )

    def _ask(self) -> Asked:
        return ask(self._book, Context(self._order, None, self._screen, self._site.connect), self._watch)

    def _objections(self) -> Iterator[str]:
        """What speaks against acting here and now, other than the runbook itself; nothing is touched."""
        stack, consent = self._order.stack, self._consent
        protected = consent.yes and self._site.is_protected(stack)
        if protected and not consent.reason:
            yield f"stack {stack!r} — is protected, and no reason is given — say why it is changed — add --reason"
        if protected and consent.stack_again != stack and (consent.stack_again or self._site.prompt is None):
            yield (
                f"stack {stack!r} — is protected, and its name was typed as {consent.stack_again!r} — it must be "
                f"typed again to act — add --stack-name-again {stack}"
            )
        if self._acts and not consent.break_lock:
            yield from leftovers(self._site.runs, self._scope, self._order.run_id)
            in_the_way = partial(held, self._site.locks_of(stack), self._scope, self._order.run_id)
            yield from map(refusal, self._watch.run("locks", in_the_way, Limits(PLAN_S), lambda why: None))

    def _type_name(self) -> Iterator[str]:
        """Have the name of a protected stack typed at the terminal, the plan in view."""
        stack, prompt = self._order.stack, self._site.prompt
        if prompt is None or self._consent.stack_again or not self._site.is_protected(stack):
            return
        question = f"stack {stack!r} is protected; type its name to act: "
        try:
            typed = self._watch.run("prompt", partial(prompt, question), Limits(600), lambda why: None)
        except Halted as halted:
            yield f"stopped by {halted} before the stack's name was typed"
            return
        if typed.strip() != stack:
            yield f"stack {stack!r} — its name was typed as {typed.strip()!r} — nothing else acts on it"

    @cached_property
    def _wanted(self) -> Lock:
        now, order = utc_now(), self._order
        owner = f"{order.actor}@{socket.gethostname()} pid {os.getpid()}"
        return Lock(self._scope, order.run_id, owner, order.reason or self._type.command(), now, now, TTL)

    def _lock(self) -> Held:
        locks = self._site.locks_of(self._order.stack)
        take = partial(acquire, locks, self._wanted, by_force=self._consent.break_lock, broke=self._broke)
        try:
            lock = self._watch.run("lock", take, Limits(PLAN_S), lambda why: None)
        except Halted:
            give_back(locks, self._wanted, patience_s=0)
            raise
        return Held(locks, lock, self._watch.stop.ask)

    def _broke(self, lock: Lock) -> None:
        told = lock.describe(utc_now())
        self._audit.note("break lock", lock=told, expired=lock.is_expired(utc_now()))
        self._warn(f"takes a lock away: {told}")

    def _release(self, keeper: Held) -> None:
        if wrong := keeper.release():
            self._warn(wrong)

    def _put_on_record(self) -> Iterable[str]:
        """Write plan and audit before the first step; who cannot write down what he does must not do it."""
        try:
            self._journal.append(Event.PLAN, **self._plan)
            self._audit.append("run", **self._header, **self._plan)
        except OSError as error:
            return [f"run record — {self._site.runs} cannot be written ({error.strerror or error}) — free it first"]
        return ()

    @cached_property
    def _who(self) -> dict[str, Any]:
        return {"actor": self._order.actor, "host": socket.gethostname(), "pid": os.getpid()}

    @cached_property
    def _why(self) -> dict[str, Any]:
        return {"reason": self._order.reason, "ticket": self._order.ticket}

    @cached_property
    def _header(self) -> dict[str, Any]:
        return {
            "run_id": self._order.run_id,
            "runbook": self._type.command(),
            "digest": digest(self._type),
            "revision": revision(Path(__file__).parent) if self._acts else "",
            "stack": self._order.stack,
            "inputs": masked(self._order.inputs),
            "acts": self._acts,
            "dry": self._order.dry,
            **self._who,
            **self._why,
        }

    @property
    def _plan(self) -> dict[str, Any]:
        targets = [[target.kind, target.name, target.namespace] for target in self._targets]
        return {"targets": targets, "lock": self._scope}

    def _offers(self) -> tuple[Offer, ...]:
        """Ask what can be done about what was found, unless something was done."""
        if getattr(self._order.inputs, "do", "") != NOTHING:
            return ()
        context = Context(self._order, self._journal, self._screen, self._site.connect)
        context.targets = self._targets
        asked: list[str] = []
        try:
            asked += self._watch.run("offers", lambda: list(self._book.offers(context)), Limits(PLAN_S), context.halt)
        except Halted as halted:
            self._warn(f"stopped by {halted}")
        except Exception as error:
            self._warn(f"what can be done is not known: {type(error).__name__}: {error}")
        found = offers(self._type, asked, command_line(self._type, self._order.stack, self._order.inputs))
        for offer in found:
            self._screen.line("note", f"to {' and '.join(offer.steps) or offer.do}:\n  {offer.command}")
        return found

    def _refuse(self, asked: Asked) -> Result:
        """End before the first step."""
        code = Exit.REFUSED if asked.reasons else Exit.UNKNOWN
        for reason in asked.reasons:
            self._screen.line("stop", reason)
        for unknown in asked.unknown:
            self._screen.line("unknown", unknown)
        refused = (*asked.reasons, *asked.unknown)
        said = "; ".join(refused)
        trace = {"trace": asked.trace} if asked.trace else {}
        self._journal.note(Event.END, self._warn, exit=code, said=said, **trace)
        self._screen.line("note", f"nothing was touched (exit {code.value}); record: {self._order.folder}")
        return self._result(code, said, refused=refused)

    def _end(self, code: Exit, said: str, performance: Performance, offered: tuple[Offer, ...]) -> Result:
        self._journal.note(Event.END, self._warn, exit=code, said=said)
        self._audit.note("end", exit=code, said=said)
        self._screen.line("step", f"{said} (exit {code.value}); record: {self._order.folder}")
        return self._result(code, said, performance, offers=offered)

    def _result(self, code: Exit, said: str, performance: Performance | None = None, **more: Any) -> Result:
        done = performance or Performance(self._stage, ())
        return Result(
            self._order.run_id,
            self._type.command(),
            self._order.stack,
            self._order.dry,
            code,
            said,
            self._order.folder,
            targets=self._targets,
            steps=tuple(done.done),
            undone=tuple(done.undone),
            rechecked=tuple(done.rechecked),
            hanging=done.hanging,
            seconds=round(time.monotonic() - self._begun, 3),
            **more,
        )

    def _warn(self, text: str) -> None:
        self._screen.line("warn", text)


def _problems(error: BaseException) -> tuple[str, ...]:
    return error.problems if isinstance(error, ConfigError) else (f"stopped by {error}",)


def _names(targets: tuple[Target, ...]) -> str:
    return ", ".join(map(str, targets)) or "none"
