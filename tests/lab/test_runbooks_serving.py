"""The runbooks of models and of the gateway against the running lab: each looks, and one acts and is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from lab.cluster.lab import Lab
from runbooks.engine.context import Context
from runbooks.engine.discover import load
from runbooks.engine.model import Outcome, step
from runbooks.engine.result import Exit, Result
from runbooks.engine.run import Consent, Site, execute, undo
from runbooks.lib import clients, leases
from runbooks.lib.diagnosis import Finding, told
from runbooks.lib.mitigations import ShedTier
from runbooks.lib.mitigations.shed_tier import read
from runbooks.serving._model import ShedInputs
from tests.lab.living_lab import serving_lab

TIER, KEY = "standard", "support"
"""A tier of the lab, and a key that has it."""

LOOKS: dict[str, dict[str, Any]] = {
    "serving/recover_engine": {"model": "tiny"},
    "serving/explain_latency": {"model": "tiny"},
    "serving/clear_backlog": {"model": "tiny"},
    "serving/free_kv_cache": {"model": "tiny"},
    "serving/explain_errors": {"model": "tiny"},
    "serving/explain_cost": {},
    "serving/use_gpus": {"model": "llama-405b"},
    "gateway/recover_gateway": {},
    "gateway/explain_errors": {},
    "gateway/renew_certificate": {},
}
"""Each runbook with inputs of the lab."""

NEEDS_NO_PROMETHEUS = {"serving/recover_engine", "gateway/recover_gateway", "gateway/renew_certificate"}
"""Those that must tell something whatever is down."""


class ShedForATest(ShedTier):
    """Shed a tier as if too much had come."""

    class Inputs(ShedInputs):
        """Whom."""

        do: Literal["nothing", "shed_tier"] = "nothing"

    @step("find a burst", writes=False)
    def burst(self, ctx: Context) -> Outcome:
        """Pretend."""
        return told([Finding("burst", "this is a test", None, ("shed_tier",))], "")


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


def site(tmp_path: Path) -> Site:
    return Site(runs=tmp_path / "runs", connect=clients.connect, locks=leases.for_stack)


def shed_on(tmp_path: Path) -> list[int]:
    """How much of the tier each gateway pod sheds."""
    found: list[int] = []

    class Reads(ShedForATest):
        """Read the switches."""

        @step("read the switches", writes=False)
        def switches(self, ctx: Context) -> Outcome:
            """Ask every pod."""
            found.extend(read(ctx, pod.name, TIER) for pod in clients.of(ctx).kube.pods.of_gateway())
            return Outcome.ok("read")

    execute(Reads, Reads.Inputs(), stack="lab", site=site(tmp_path))
    return found


def status_of_tier(tmp_path: Path) -> int:
    """What a client of the tier is answered now."""
    found: list[int] = []

    class Asks(ShedForATest):
        """Ask once."""

        @step("ask", writes=False)
        def ask(self, ctx: Context) -> Outcome:
            """As a client does."""
            found.append(clients.of(ctx).gateway.ask("tiny", key=KEY).status)
            return Outcome.ok("asked")

    execute(Asks, Asks.Inputs(), stack="lab", site=site(tmp_path))
    return found[0]


def look(command: str, tmp_path: Path) -> Result:
    book = load(command)
    return execute(book, book.Inputs(**LOOKS[command]), stack="lab", site=site(tmp_path))


@pytest.mark.parametrize("command", LOOKS, ids=str)
def test_each_runbook_looks_and_says_what_it_found(lab: Lab, command: str, tmp_path: Path) -> None:
    """A dry run on the living lab ends well, or cannot tell and says for want of what."""
    result = look(command, tmp_path)
    assert result.exit in ((Exit.DONE,) if command in NEEDS_NO_PROMETHEUS else (Exit.DONE, Exit.UNKNOWN)), result.said
    if result.exit is Exit.UNKNOWN:
        assert "—" in result.said
    assert [one for one in result.steps if one.would] == []


def test_a_tier_is_shed_at_the_real_gateway_and_served_again(lab: Lab, tmp_path: Path) -> None:
    """Clients of the tier get 429 while it is shed, and answers again after the undo."""
    assert status_of_tier(tmp_path) == 200
    result = execute(
        ShedForATest,
        ShedForATest.Inputs(do="shed_tier", tier=TIER),
        stack="lab",
        site=site(tmp_path),
        consent=Consent(yes=True),
    )
    try:
        assert (result.exit, set(shed_on(tmp_path))) == (Exit.DONE, {100})
        assert status_of_tier(tmp_path) == 429
    finally:
        taken_back = undo(result.run_id, load=lambda _: ShedForATest, site=site(tmp_path))
    assert (taken_back.exit, set(shed_on(tmp_path))) == (Exit.DONE, {0})
    assert status_of_tier(tmp_path) == 200
