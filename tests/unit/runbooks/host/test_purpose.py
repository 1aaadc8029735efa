"""Hosts that are out for a purpose: drained, held and returned by runs that know each other by that purpose alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.result import Exit
from runbooks.host._purpose import WHY
from runbooks.host.drain_host import DrainHost
from runbooks.host.hold_host import HoldHost
from runbooks.host.return_host import ReturnHost
from runbooks.lib.kubernetes import hosts as cordons
from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.views import Host
from runbooks.lib.writing import Result as Ran
from tests.unit.runbooks import host_fakes
from tests.unit.runbooks.fakes import pod, said
from tests.unit.runbooks.host_fakes import Ssh, World, all_hosts, host

NAME = "lab-1"
TUNE: dict[str, Any] = {"host": NAME, "purpose": "tune"}


@dataclass
class Nodes(host_fakes.Nodes):
    """Hosts whose cordons and annotations are those of the real client."""

    def _apply(self, name: str, patch: Mapping[str, Any]) -> None:
        raw = dict(self.get(name).raw)
        notes = raw["metadata"].get("annotations", {}) | patch.get("metadata", {}).get("annotations", {})
        raw["metadata"] = raw["metadata"] | {"annotations": {key: one for key, one in notes.items() if one is not None}}
        spec = raw.get("spec", {}) | patch.get("spec", {})
        raw["spec"] = {key: one for key, one in spec.items() if one is not None}
        self.cluster.hosts_there[name] = views.host(raw)

    def cordon(self, name: str, reason: str = "") -> None:
        if self.cluster.note(f"cordon {name} for {reason}"):
            self._apply(name, cordons.with_reason(self.get(name), reason))

    def uncordon(self, name: str, reason: str = "") -> None:
        if self.cluster.note(f"uncordon {name} for {reason}"):
            self._apply(name, cordons.without_reason(self.get(name), reason))

    def annotate(self, name: str, values: Mapping[str, str | None]) -> None:
        if self.cluster.note(f"annotate {name}"):
            self._apply(name, {"metadata": {"annotations": values}})


@dataclass
class Cluster(host_fakes.Cluster):
    """A cluster with no pod on the host, unless a test puts one there."""

    pods_there: list[Any] = field(default_factory=list)

    @property
    def hosts(self) -> Any:
        return Nodes(self)


def world(cordoned: str | None = None, **more: Any) -> World:
    return World(Cluster(hosts_there=all_hosts(host(NAME, cordoned=cordoned))), **more)


def now(there: World) -> Host:
    return there.kube.hosts_there[NAME]


def test_a_host_is_drained_held_and_returned(tmp_path: Path) -> None:
    """Three runs, one purpose: the reason is on the host as long as it is out, and gone with its return."""
    there = world()
    assert there.run(DrainHost, tmp_path, yes=True, **TUNE).exit is Exit.DONE
    assert there.run(HoldHost, tmp_path, yes=True, because="vm.swappiness is 60", **TUNE).exit is Exit.DONE
    assert (now(there).cordoned_by, now(there).annotations[WHY]) == (("play/tune",), "vm.swappiness is 60")
    assert there.run(ReturnHost, tmp_path, yes=True, **TUNE).exit is Exit.DONE
    assert (now(there).cordoned, WHY in now(there).annotations) == (False, False)


def test_a_drain_that_is_done_again_changes_nothing(tmp_path: Path) -> None:
    """A play that was killed and is run again finds its host out and empty."""
    there = world("play/tune")
    result = there.run(DrainHost, tmp_path, yes=True, **TUNE)
    assert (result.exit, [one.facts.get("changed") for one in result.steps]) == (Exit.DONE, [False, False])
    assert now(there).cordoned_by == ("play/tune",)


@pytest.mark.parametrize("others", ["run/x", "play/upgrade-driver"])
def test_another_reason_outlives_the_return(others: str, tmp_path: Path) -> None:
    """A host that is out for a fault does not come back because its settings are well."""
    there = world(f"{others},play/tune")
    assert there.run(ReturnHost, tmp_path, yes=True, **TUNE).exit is Exit.DONE
    assert (now(there).cordoned, now(there).cordoned_by) == (True, (others,))


@pytest.mark.parametrize("cordoned", [None, "", "run/x"], ids=["serves", "cordoned by somebody", "out otherwise"])
def test_a_host_that_is_not_out_for_this_is_left_as_it_is(cordoned: str | None, tmp_path: Path) -> None:
    """Neither loaded nor uncordoned."""
    there = world(cordoned)
    before = now(there)
    result = there.run(ReturnHost, tmp_path, yes=True, **TUNE)
    assert (result.exit, now(there), there.kube.written) == (Exit.DONE, before, [])


def test_a_host_that_does_not_stand_its_load_stays_out(tmp_path: Path) -> None:
    """The run fails, and the cordon is as it was."""
    there = world("play/tune", hosts=Ssh(answers={"sha256sum": Ran(1, "", "killed")}))
    result = there.run(ReturnHost, tmp_path, yes=True, **TUNE)
    assert (result.exit, now(there).cordoned_by) == (Exit.UNDONE, ("play/tune",))
    assert "could not be loaded" in said(result)


def test_a_pod_without_a_place_elsewhere_keeps_its_host(tmp_path: Path) -> None:
    """Refused before the cordon."""
    there = world()
    there.kube.pods_there = [pod("tiny-a-b", host=NAME)]
    there.kube.hosts_there = {NAME: host(NAME)}
    result = there.run(DrainHost, tmp_path, yes=True, **TUNE)
    assert (result.exit, there.kube.written) == (Exit.REFUSED, [])
    assert "has no place but on host lab-1" in said(result)


@pytest.mark.parametrize("book", [DrainHost, HoldHost, ReturnHost])
def test_a_dry_run_says_what_it_would_write(book: Any, tmp_path: Path) -> None:
    """And writes nothing."""
    there = world("play/tune")
    more = {"because": "x"} if book is HoldHost else {}
    result = there.run(book, tmp_path, **TUNE, **more)
    assert (result.exit, there.kube.written) == (Exit.DONE, [])


@pytest.mark.parametrize("purpose", ["", "Tune", "a,b", "tune hosts"])
def test_a_purpose_is_one_word_that_a_cordon_can_bear(purpose: str, tmp_path: Path) -> None:
    """A comma would make two reasons of it."""
    with pytest.raises(ValueError, match="purpose"):
        DrainHost.Inputs(host=NAME, purpose=purpose)
