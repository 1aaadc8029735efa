"""Prove that hosts are tuned: each setting of the catalogue, read back from the running host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from infra.errors import ConfigError
from infra.plan.hosts import Check, HostFacts, Outcome
from infra.plan.inventory import inventory
from infra.plan.outputs import outputs
from runbooks.engine.model import Inputs, Runbook, Target, step
from runbooks.engine.model import Outcome as Told
from runbooks.lib import clients
from runbooks.lib.diagnosis import given
from runbooks.lib.diagnosis.hosts import meant, pool_of
from runbooks.lib.hosts.listed import Listed, read
from runbooks.lib.hosts.proof import Proof, over_ssh, prove
from runbooks.lib.hosts.ssh import Connections

if TYPE_CHECKING:
    from runbooks.engine.context import Context

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
        inventory: str = Field(
            default="",
            description="inventory of Ansible, whose hosts and values count, such as ansible/inventory/lab; "
            "left out: the stack's own hosts, with the values of the catalogue",
        )

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The real hosts among those that are meant."""
        return [Target("host", host.name) for host in _chosen(ctx, _listed(ctx))]

    @step("every setting, read back", writes=False, timeout=timedelta(minutes=10))
    def settings(self, ctx: Context) -> Told:
        """Ask each host once for all, judge here, and tell what their kernels reported since boot."""
        listed = _listed(ctx)
        proofs = prove(_chosen(ctx, listed), over_ssh(Connections(listed.ssh_config)))
        every = [(proof.host.name, check) for proof in proofs for check in proof.checks]
        by = {outcome: [one for one in every if one[1].outcome is outcome] for outcome in Outcome}
        facts = {
            "checks": [_row(host, check) for host, check in every],
            "faults": [
                {"host": proof.host.name, "said": fault.said, "line": fault.text}
                for proof in proofs
                for fault in proof.faults
            ],
        }
        said = f"{len(proofs)} hosts, {', '.join(f'{len(found)} {outcome.value}' for outcome, found in by.items())}"
        news = _news(proofs)
        if wrong := by[Outcome.FAIL]:
            return Told.fail(f"{said}: {_listing(wrong)}{news}", **facts)
        if dark := by[Outcome.UNKNOWN]:
            return Told.unknown(f"{said}: {_listing(dark)}{news}", **facts)
        return Told.ok(said + news, **facts)


def _listed(ctx: Context) -> Listed:
    """Hosts of an inventory, of the stack where it names them, or else of the cluster."""
    if path := given(ctx).inventory:
        return read(Path(path))
    stack, plan = clients.of(ctx).stack, clients.of(ctx).plan
    if all(pool.machines for pool in plan.pools if not pool.simulated) or plan.target.name == "lab":
        return Listed(tuple(inventory(outputs(plan)).hosts), stack.ssh_config)
    return Listed(tuple(_joined(ctx)), stack.ssh_config)


def _chosen(ctx: Context, listed: Listed) -> Sequence[HostFacts]:
    """Those that are meant.

    Raises:
        ConfigError: there is none, or all of them are simulated and have no kernel.
    """
    wants = given(ctx)
    pools = {pool.name: pool for pool in clients.of(ctx).plan.pools}
    if not wants.inventory and wants.pool in pools and pools[wants.pool].simulated:
        raise ConfigError(f"pool {wants.pool!r} — all its hosts are simulated and have no kernel — name a real one")
    return listed.chosen(host=wants.host, pool=wants.pool, leaf=wants.leaf)


def _joined(ctx: Context) -> Iterable[HostFacts]:
    """Hosts that are in the cluster, whoever made them; of one without a pool of the plan nothing can be told."""
    for host in meant(ctx):
        pool = pool_of(ctx, host)
        if not host.simulated:
            yield HostFacts(
                name=host.name,
                pool=host.pool,
                board=pool.board.name if pool else "",
                fabric=pool.pool.fabric if pool else "",
                leaf=host.leaf,
                machine="metal" if pool and pool.is_metal else "virtual",
            )


def _listing(checks: Sequence[tuple[str, Check]]) -> str:
    shown = [f"{host} {one.id} is {one.found}, wanted {one.wanted}" for host, one in checks[:SHOWN]]
    more = [f"and {len(checks) - SHOWN} more"] if len(checks) > SHOWN else []
    return "; ".join([*shown, *more])


def _news(proofs: Iterable[Proof]) -> str:
    """What kernels told since boot; it is not judged here, for a log forgets nothing that was cured."""
    said = [f"{proof.host.name} {fault.said}" for proof in proofs for fault in proof.faults]
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return f"; kernel logs tell: {'; '.join(said[:SHOWN])}{more}" if said else ""


def _row(host: str, check: Check) -> dict[str, str]:
    return {
        "host": host, "id": check.id, "outcome": check.outcome, "found": check.found, "wanted": check.wanted,
        "action": check.action, "evidence": check.evidence,
    }  # fmt: skip
