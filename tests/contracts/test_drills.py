"""Drills, alerts and runbooks name each other, and the names hold."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta

import pytest

from infra.catalog.alerts import ALERTS
from runbooks.engine.discover import answering, commands, load
from runbooks.engine.model import Runbook
from runbooks.lib.drill.model import Drill

COMMANDS = [command for command in commands() if command.startswith("drills/")]
ISSUE = {
    "kill_engine_pod", "kill_engine_process", "hang_engine", "kill_gateway_pod", "reload_gateway", "drain_host",
    "lose_host", "stop_kubelet", "restart_containerd", "stop_api_server", "stop_etcd", "stop_dns", "cut_network",
    "delay_network", "lose_packets", "fill_disk", "press_memory", "jump_clock", "expire_certificate", "miss_image",
    "roll_bad_config", "stop_prometheus", "burst_traffic", "lose_gpu", "flap_nic", "lose_leaf",
}  # fmt: skip
"""Faults that are promised."""

each_drill = pytest.mark.parametrize("command", COMMANDS)


def _drill(command: str) -> type[Drill]:
    found: type[Runbook] = load(command)
    assert issubclass(found, Drill)
    return found


def test_every_promised_fault_has_its_drill() -> None:
    """None is missing."""
    assert {command.removeprefix("drills/") for command in COMMANDS} >= ISSUE


@each_drill
def test_a_drill_says_what_is_seen_of_it(command: str) -> None:
    """Either an alert in time, with the runbook that answers it and what it must find, or a reason for silence."""
    drill = _drill(command)
    assert (drill.expects is None) != (drill.silent_because == "")
    if drill.expects is None:
        return
    alert, expects = ALERTS[drill.expects.alert], drill.expects
    assert alert.runbook == expects.runbook
    assert set(expects.also) <= ALERTS.keys() - {expects.alert}
    assert expects.runbook in answering(expects.alert)
    assert timedelta(0) < expects.within < drill.deadline
    re.compile(expects.finds)
    inputs = load(expects.runbook).Inputs.model_fields
    assert set(expects.inputs) <= set(inputs)


@each_drill
def test_pages_that_a_drill_may_bring_are_few_and_have_a_reason(command: str) -> None:
    """They are pages that it does not wait for; pages about failed requests only where requests may fail."""
    drill = _drill(command)
    awaited = drill.expects.alerts if drill.expects else ()
    assert {ALERTS[name].severity for name in drill.may} <= {"page"}
    assert all(drill.may.values())
    assert not set(drill.may) & set(awaited)
    lets_fail = any(allowed != 0 for allowed in (drill.during.lost, drill.during.cut, drill.during.rejected))
    told = {"ModelErrorsHigh", "GatewayErrorsHigh"} & {*drill.may, *awaited}
    assert len(told) == (2 if lets_fail else 0)


@each_drill
def test_a_drill_undoes_its_fault_and_looks_again(command: str) -> None:
    """Steps come in one order: a step of its own would come before the look and the load. The look is made twice."""
    steps = {step.name: step for step in _drill(command).steps()}
    assert list(steps) == [step.name for step in Drill.steps()]
    assert steps["break_it"].undo == "undo_fault"
    assert steps["look"].recheck
    assert [name for name, step in steps.items() if step.writes] == ["break_it", "mend"]


@each_drill
def test_a_drill_needs_no_inputs(command: str) -> None:
    """So that all can be run one after the other."""
    assert _drill(command).Inputs()


@pytest.mark.parametrize("name", sorted(ALERTS))
def test_the_drill_of_an_alert_waits_until_it_fires(name: str) -> None:
    """A drill that passes without it proves nothing about it; an alert without a drill says why."""
    alert = ALERTS[name]
    if not alert.drill:
        assert alert.no_drill
        return
    expects = _drill(f"drills/{alert.drill}").expects
    assert expects is not None
    assert name in expects.alerts


@each_drill
def test_alerts_that_a_drill_waits_for_lead_back_to_it(command: str) -> None:
    """Whoever is woken finds the drill that shows the same; the one it is answered for may have several."""
    expects = _drill(command).expects
    others = expects.also if expects else ()
    assert [name for name in others if f"drills/{ALERTS[name].drill}" != command] == []


def test_the_short_set_is_short() -> None:
    """Two or three drills; each run of the tests makes them."""
    assert 2 <= sum(_drill(command).is_short for command in COMMANDS) <= 3


def test_a_drill_is_loaded_without_the_traffic_driver() -> None:
    """It costs half a second of every command that only lists, refuses or undoes."""
    code = "import sys, runbooks.lib.drill.model; sys.exit('aiohttp' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
