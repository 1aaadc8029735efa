"""Keep pods off a host for a reason of ours, and let them come again once it has proved itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import CheckError
from runbooks.engine.model import Outcome, step
from runbooks.lib import changes, clients
from runbooks.lib.diagnosis import Finding, findings, fitness, told
from runbooks.lib.diagnosis.finding import NO_FAULT
from runbooks.lib.diagnosis.hosts import meant, pool_of
from runbooks.lib.kubernetes.hosts import FOUND_CORDONED
from runbooks.lib.mitigations.remedy import Remedy, chosen

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

LOAD_SECONDS = 5
"""How long the CPUs of a host without GPUs are loaded (s). Source: our choice; kubelet reports each 10 s."""

DIAGNOSE = ("dcgmi", "diag", "-r", "2")
"""Load for a host with GPUs. Source: NVIDIA DCGM, diagnostics run level 2, two minutes on eight GPUs."""

DIAGNOSE_SECONDS = 900.0
"""How long that may take (s)."""


class Cordon(Remedy):
    """``do=cordon``: no new pod comes to the host; those that run there stay."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """The host must be named."""
        yield from super().against(ctx, do)
        if do == "cordon" and not chosen(ctx, "host"):
            yield "cordon — it is not told which — name the host"

    @step("see that a cordon helps", writes=False, only="cordon")
    def cordon_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "cordon")

    @step("cordon the host", only="cordon", undo="let_it_go")
    def cordon(self, ctx: Context) -> Outcome:
        """Cordon it for this run; ``runbook undo``, or ``do=uncordon``, ends that."""
        host, hosts = chosen(ctx, "host"), clients.of(ctx).kube.hosts
        ctx.record(cordoned={"host": host, "reason": hosts.own_reason})
        hosts.cordon(host)
        return Outcome.ok(f"host {host} takes no new pods, for {hosts.own_reason}")

    def let_it_go(self, ctx: Context) -> Outcome:
        """Take the reason of this run away."""
        facts = ctx.facts.get("cordon", {}).get("cordoned")
        if not facts:
            return Outcome.ok("nothing was cordoned")
        clients.of(ctx).kube.hosts.uncordon(facts["host"], facts["reason"])
        return Outcome.ok(f"host {facts['host']} is no longer cordoned for {facts['reason']}")


class Uncordon(Remedy):
    """``do=uncordon``: after a load that it stood, a host that we had cordoned takes pods again."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """The cordon must be ours, and the host well."""
        yield from super().against(ctx, do)
        if do != "uncordon":
            return
        name = chosen(ctx, "host")
        if not name:
            yield "uncordon — it is not told which — name the host"
            return
        host = clients.of(ctx).kube.hosts.get(name)
        if not host.cordoned:
            yield f"host {name} — is not cordoned"
        elif not ours(host):
            yield (
                f"host {name} — was cordoned by somebody else — only our own cordons are taken away — "
                f"ask who did it, then: kubectl uncordon {name}"
            )
        yield from fitness.unfit(ctx, host)

    @step("which are cordoned, and for whom", writes=False)
    def cordons(self, ctx: Context) -> Outcome:
        """Read the owners of each cordon; a host that nothing is wrong with any more may come back."""
        faulty = {one.about for one in findings(ctx) if one.fault not in NO_FAULT}
        found = [_told(host, host.name in faulty) for host in meant(ctx) if host.cordoned]
        return told(found, "none of them is cordoned")

    @step("see that the host may take pods", writes=False, only="uncordon")
    def uncordon_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "uncordon")

    # Nothing to undo: the load ends by itself.
    @step("load the host", only="uncordon", timeout=timedelta(minutes=20))
    def load(self, ctx: Context) -> Outcome:
        """Prove it under load, as an idle host looks well; simulated hosts have nothing to load."""
        host = clients.of(ctx).kube.hosts.get(chosen(ctx, "host"))
        if host.simulated:
            return Outcome.ok(f"host {host.name} is simulated and cannot be loaded; its signals are well")
        load_host(ctx, host)
        if reasons := list(fitness.unfit(ctx, clients.of(ctx).kube.hosts.get(host.name))):
            return Outcome.fail("; ".join(reasons))
        return Outcome.ok(f"host {host.name} stood its load")

    @step("let the host take pods again", only="uncordon", undo="cordon_again")
    def uncordon(self, ctx: Context) -> Outcome:
        """Take our reasons away; a cordon of somebody else stays."""
        hosts = clients.of(ctx).kube.hosts
        host = hosts.get(chosen(ctx, "host"))
        reasons = ours(host)
        ctx.record(uncordoned={"host": host.name, "reasons": reasons})
        for reason in reasons:
            hosts.uncordon(host.name, reason)
        return Outcome.ok(f"host {host.name} is no longer cordoned for {', '.join(reasons)}")

    def cordon_again(self, ctx: Context) -> Outcome:
        """Cordon it for the same reasons."""
        facts = ctx.facts.get("uncordon", {}).get("uncordoned")
        if not facts:
            return Outcome.ok("nothing was uncordoned")
        for reason in facts["reasons"]:
            clients.of(ctx).kube.hosts.cordon(facts["host"], reason)
        return Outcome.ok(f"host {facts['host']} is cordoned for {', '.join(facts['reasons'])}")


def ours(host: Host) -> list[str]:
    """Reasons of ours for which a host is cordoned."""
    return [reason for reason in host.cordoned_by if reason != FOUND_CORDONED]


def _told(host: Host, is_faulty: bool) -> Finding:
    owners = ours(host)
    whose = f"for {', '.join(owners)}" if owners else "by somebody else, for no reason of ours"
    writes = sorted(changes.writes(host.raw), key=lambda change: change.at, reverse=True)
    write = next((one for one in writes if "unschedulable" in one.what), None)
    by = f" (by {write.who})" if write is not None and not owners else ""
    offers = ("uncordon",) if owners and host.ready and not is_faulty else ()
    said = f"host {host.name} is cordoned {whose}{by}"
    return Finding("cordoned", said, write.at if write is not None else None, offers, host.name)


def load_host(ctx: Context, host: Host) -> None:
    """Load a real host: DCGM's diagnostics where it has GPUs, every CPU otherwise.

    Raises:
        CheckError: it does not stand it.
    """
    pool, hosts = pool_of(ctx, host), clients.of(ctx).hosts
    if pool is not None and pool.board.gpus:
        done = hosts.run(host.name, DIAGNOSE, timeout=DIAGNOSE_SECONDS)
        if not done.is_ok:
            said = (done.stdout or done.stderr).strip()[-400:]
            raise CheckError(f"host {host.name} — {' '.join(DIAGNOSE)} fails: {said} — leave it cordoned")
        return
    script = f'for n in $(seq "$(nproc)"); do timeout {LOAD_SECONDS} sha256sum /dev/zero & done; wait'
    done = hosts.run(host.name, ["sh", "-c", script], timeout=LOAD_SECONDS + 30.0)
    if not done.is_ok:
        raise CheckError(f"host {host.name} — could not be loaded: {done.stderr.strip()} — leave it cordoned")
