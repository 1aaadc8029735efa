"""Prove that hosts are tuned: each setting of the catalogue, read back from the running host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import Field

from infra.errors import ConfigError, Unknown
from infra.plan.hosts import Check, HostFacts, Outcome, judge, readings, wanted
from runbooks.engine.model import Inputs, Runbook, Target, step
from runbooks.engine.model import Outcome as Told
from runbooks.lib import clients
from runbooks.lib.diagnosis import given
from runbooks.lib.diagnosis.hosts import meant, pool_of

if TYPE_CHECKING:
    from infra.plan.facts import PoolPlan
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

AT_ONCE = 32
"""Hosts that are asked at the same time (count): each is one connection and no work here."""

SHOWN = 20
"""Checks that the sentence names; all of them are in the record (count)."""


class VerifyHost(Runbook):
    """Prove that hosts are tuned: each setting of the catalogue, read back from the running host; changes nothing.

    A host that does not answer, or a setting that cannot be read, is "cannot tell" and never a pass.
    """

    answers = ()
    lock = ""
    risk = "none: it only reads"

    class Inputs(Inputs):
        """Which hosts; all real ones without any of them."""

        host: str = Field(default="", description="host")
        pool: str = Field(default="", description="pool")
        leaf: str = Field(default="", description="leaf")

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The real hosts among those that are meant."""
        return [Target("host", host.name) for host in _real(ctx)]

    @step("every setting, read back", writes=False, timeout=timedelta(minutes=10))
    def settings(self, ctx: Context) -> Told:
        """Ask each host once for all, and judge here."""
        hosts = _real(ctx)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            checks = [found for host in threads.map(lambda host: list(_checks(ctx, host)), hosts) for found in host]
        by = {outcome: [one for one in checks if one[1].outcome is outcome] for outcome in Outcome}
        facts = {"checks": [_row(host, check) for host, check in checks]}
        counts = ", ".join(f"{len(found)} {outcome.value}" for outcome, found in by.items())
        said = f"{len(hosts)} hosts, {counts}"
        if wrong := by[Outcome.FAIL]:
            return Told.fail(f"{said}: {_listed(wrong)}", **facts)
        if dark := by[Outcome.UNKNOWN]:
            return Told.unknown(f"{said}: {_listed(dark)}", **facts)
        return Told.ok(said, **facts)


def _real(ctx: Context) -> list[Host]:
    """Hosts with a kernel.

    Raises:
        ConfigError: none of them has one.
    """
    found = [host for host in meant(ctx) if not host.simulated]
    if not found:
        raise ConfigError(f"{given(ctx)} — all such hosts are simulated and have no kernel — name a real one")
    return found


def _checks(ctx: Context, host: Host) -> Iterator[tuple[str, Check]]:
    pool = pool_of(ctx, host)
    if pool is None:
        yield host.name, _dark(f"pool {host.pool!r} is not one of the plan")
        return
    items = wanted(_facts(host, pool))
    try:
        said = clients.of(ctx).hosts.answers(host.name, readings(items))
    except (Unknown, ConfigError) as error:
        # One line for a host, not one for each of its settings.
        yield host.name, _dark(str(error))
        return
    for item in items:
        yield host.name, judge(item, said)


def _facts(host: Host, pool: PoolPlan) -> HostFacts:
    return HostFacts(
        name=host.name,
        pool=pool.name,
        board=pool.board.name,
        fabric=pool.pool.fabric,
        leaf=host.leaf,
        machine="metal" if pool.is_metal else "virtual",
    )


def _dark(why: str) -> Check:
    return Check("host", Outcome.UNKNOWN, why, "an answer", "nothing is known of a host that is not asked", "ticket")


def _listed(checks: list[tuple[str, Check]]) -> str:
    shown = [f"{host} {one.id} is {one.found}, wanted {one.wanted}" for host, one in checks[:SHOWN]]
    more = [f"and {len(checks) - SHOWN} more"] if len(checks) > SHOWN else []
    return "; ".join([*shown, *more])


def _row(host: str, check: Check) -> dict[str, str]:
    return {"host": host, "id": check.id, "outcome": check.outcome, "found": check.found, "wanted": check.wanted}
