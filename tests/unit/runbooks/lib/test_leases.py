"""A lock comes back from its Lease as it went in, and no two scopes share one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runbooks.engine.lock import Lock
from runbooks.lib import leases


def _lock(scope: str = "lab/model/tiny") -> Lock:
    taken = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
    return Lock(scope, "run-1", "me@here pid 7", "why", taken, taken + timedelta(seconds=9), timedelta(minutes=15), "4")


def test_a_lock_survives_its_lease() -> None:
    """Scope, owner, reason and times, to the microsecond."""
    assert leases.to_lock(leases.to_lease(_lock())) == _lock()
    assert leases.to_lock(leases.to_lease(_lock())).version == "4"


def test_scopes_that_read_alike_have_their_own_lease() -> None:
    """A slash is not a dash."""
    scopes = ["lab/pool/a", "lab/pool-a", "lab-pool/a", "LAB/pool/a", "x" * 80, "x" * 81]
    names = [leases.lease_name(scope) for scope in scopes]
    assert len(set(names)) == len(scopes)
    assert all(len(name) <= 63 and name == name.lower() for name in names)
