"""One run at a time in one scope: who holds a lock, what conflicts with it, and how it is kept during a run."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from infra.errors import ConfigError
from infra.units import duration

TTL = timedelta(minutes=15)
"""How long a lock outlives its last renewal: longer than an API server is away in a drill, shorter than a shift."""
RENEW_S = 20.0
"""Seconds between two renewals."""
TRIES = 5
"""How often two runs that ask at the same moment step back from each other before one of them gives up."""
RELEASE_S = 60.0
"""Seconds for which a run tries to give its lock back; after that it expires by itself."""


@dataclass(frozen=True, slots=True)
class Lock:
    """One scope held by one run."""

    scope: str
    run_id: str
    owner: str
    """``user@host pid 123``."""
    reason: str
    taken: datetime
    renewed: datetime
    ttl: timedelta
    version: str = field(default="", compare=False)
    """What the store calls this state of the lock; ``replace`` and ``delete`` need it to be still the one stored."""

    def is_expired(self, at: datetime) -> bool:
        """Whether its run has not been heard of for too long."""
        return at > self.renewed + self.ttl

    def conflicts(self, scope: str) -> bool:
        """Whether a scope is this one, contains it or lies in it."""
        return overlap(self.scope, scope)

    def describe(self, at: datetime) -> str:
        """Say who holds it and since when."""
        held = duration(max((at - self.taken).total_seconds(), 0))
        heard = duration(max((at - self.renewed).total_seconds(), 0))
        why = f", reason {self.reason!r}" if self.reason else ""
        return f"{self.scope!r} is held by {self.owner}, run {self.run_id}, for {held}{why} (last heard {heard} ago)"


class Locks(Protocol):
    """Where locks are kept; every method raises Unknown when the store does not answer."""

    def all(self) -> list[Lock]:
        """Every lock there is, as the store has it now and not from a cache."""

    def create(self, lock: Lock) -> bool:
        """Store a new lock; False when there is one for this very scope."""

    def replace(self, old: Lock, new: Lock) -> bool:
        """Store ``new`` over ``old``; False when ``old`` is no longer what is stored."""

    def delete(self, old: Lock) -> bool:
        """Remove a lock; False when ``old`` is no longer what is stored."""


def overlap(one: str, other: str) -> bool:
    """Whether two scopes are the same, or one lies in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def utc_now() -> datetime:
    """Give the time in UTC."""
    return datetime.now(UTC)


def held(locks: Locks, scope: str, run_id: str) -> list[Lock]:
    """List live locks of other runs that conflict with a scope; nothing is touched."""
    at = utc_now()
    return [lock for lock in locks.all() if _is_others(lock, scope, run_id) and not lock.is_expired(at)]


def refusal(lock: Lock) -> str:
    """Say that a lock is in the way, and what can be done about it."""
    return (
        f"lock — {lock.describe(utc_now())} — one run at a time is allowed in a scope — wait for it, "
        f"`runbook abort {lock.run_id}` where it runs, or `runbook undo {lock.run_id}` if it is dead"
    )


class Held:
    """A lock that is ours, renewed by a thread until it is released or lost."""

    def __init__(self, locks: Locks, lock: Lock, lost: Callable[[str], None], *, every_s: float = RENEW_S) -> None:
        self._locks, self._lock, self._lost, self._every_s = locks, lock, lost, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lock", daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        heard = time.monotonic()
        while not self._over.wait(self._every_s):
            wrong = self._touch()
            if not wrong:
                heard = time.monotonic()
            elif wrong == _LOST or time.monotonic() - heard > self._lock.ttl.total_seconds() - self._every_s:
                self._lost(f"lock {self._lock.scope!r} {wrong}")
                return

    def _touch(self) -> str:
        """Renew the lock; what was wrong if that did not work, else empty."""
        try:
            ours = _stored(self._locks, self._lock)
            if ours is None:
                return _LOST
            return "" if self._locks.replace(ours, replace(ours, renewed=utc_now())) else "changed meanwhile"
        except Exception as error:
            # Whatever a store says while its server is away: the lock is ours until it expires.
            return f"could not be renewed ({error})"

    def release(self) -> str:
        """Give the lock back; what was wrong if that did not work, else empty."""
        self._over.set()
        self._thread.join(self._every_s)
        return give_back(self._locks, self._lock, patience_s=RELEASE_S)


def give_back(locks: Locks, lock: Lock, *, patience_s: float) -> str:
    """Remove a lock of ours if it is stored; what was wrong if that did not work, else empty."""
    end = time.monotonic() + patience_s
    while True:
        try:
            ours = _stored(locks, lock)
            if ours is None or locks.delete(ours):
                return ""
            wrong = "changes all the time"
        except Exception as error:
            wrong = str(error)
        if time.monotonic() >= end:
            return f"lock {lock.scope!r} could not be given back ({wrong}); it expires by itself"
        time.sleep(1)


def _stored(locks: Locks, lock: Lock) -> Lock | None:
    """Find a lock of ours as it is stored."""
    key = (lock.scope, lock.run_id)
    return next((one for one in locks.all() if (one.scope, one.run_id) == key), None)


_LOST = "was taken by somebody else"


def acquire(locks: Locks, wanted: Lock, *, by_force: bool, broke: Callable[[Lock], None]) -> Lock:
    """Take a scope, or say who has it.

    A run sees either the lock of another or the other sees its own, as each looks again after it has stored its
    own; both step back then, and try again at different moments.

    Args:
        by_force: take away live locks that are in the way.
        broke: told of each lock that is about to be taken away, expired ones included.
    Raises:
        ConfigError: another run holds the scope, one around it or one in it.
        Unknown: the store does not answer.
    """
    for attempt in range(TRIES):
        stored = _clear(locks, wanted, by_force=by_force, broke=broke)
        ours = next((lock for lock in stored if (lock.scope, lock.run_id) == (wanted.scope, wanted.run_id)), None)
        if locks.replace(ours, wanted) if ours else locks.create(wanted):
            if not any(_is_others(lock, wanted.scope, wanted.run_id) for lock in locks.all()):
                return wanted
            give_back(locks, wanted, patience_s=0)
        # Differs from run to run, so that the two do not meet again.
        time.sleep((zlib.crc32(wanted.run_id.encode()) % 97 + 1) / 100 * (attempt + 1))
    raise ConfigError(*[refusal(lock) for lock in held(locks, wanted.scope, wanted.run_id)] or [_BUSY])


_BUSY = "lock — others ask for the same scope at this moment — one run at a time is allowed — try again"


def _clear(locks: Locks, wanted: Lock, *, by_force: bool, broke: Callable[[Lock], None]) -> list[Lock]:
    """Refuse on live locks; remove those that expired, so that a run that comes back to life sees that it lost."""
    stored, at = locks.all(), utc_now()
    others = [lock for lock in stored if _is_others(lock, wanted.scope, wanted.run_id)]
    live = [lock for lock in others if not lock.is_expired(at)]
    if live and not by_force:
        raise ConfigError(*map(refusal, live))
    for lock in others:
        broke(lock)
        locks.delete(lock)
    return stored


def _is_others(lock: Lock, scope: str, run_id: str) -> bool:
    return lock.run_id != run_id and lock.conflicts(scope)
