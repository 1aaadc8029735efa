"""A whole fabric of ibsim under opensm: faults made there are told by what the real tools print of it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from infra.errors import ConfigError
from infra.plan.hosts import Check, HostFacts, Outcome
from infra.plan.inventory import inventory
from lab import paths
from lab.ib import hosts, network, operate
from lab.packages import absent
from runbooks.lib.fabric import linkinfo, netdiscover
from runbooks.lib.fabric.links import rate
from runbooks.lib.fabric.verify import verify

if missing := absent(operate.PACKAGES):
    pytest.skip(f"{', '.join(one.name for one in missing)} missing; `lab ib up` installs them", allow_module_level=True)

TOOLS = {"ibnetdiscover": netdiscover.links, "iblinkinfo": linkinfo.links}
"""Program → reader of what it prints."""

SECONDS = 20.0
"""How long the subnet manager may take to notice a change (s): it looks every ten."""


def _stack(folder: Path, *, hosts: int) -> Path:
    """A stack file like the example of bare metal, with so many hosts on InfiniBand, four on each leaf."""
    said = yaml.safe_load((paths.repo_root() / "stacks/Pulumi.bare-h100.yaml").read_text(encoding="utf-8"))
    pool = {"board": "hgx-h100", "hosts": hosts, "fabric": "infiniband", "hosts_per_leaf": 4}
    said["config"]["railwright:pools"]["h100"] = pool
    path = folder / "Pulumi.fabric.yaml"
    path.write_text(yaml.safe_dump(said), encoding="utf-8")
    return path


class Fabric:
    """A running fabric."""

    def __init__(self, stack: Path) -> None:
        said = hosts.of_stack(str(stack))
        self.hosts: tuple[HostFacts, ...] = tuple(inventory(said).hosts)
        self.net = network.build(hosts.ports(said))
        operate.up(self.net, said, operate.Size("fabric", 8, 8, len(self.net.switches)), print)

    def said(self, tool: str) -> str:
        """What a tool prints of it."""
        # A tool that is ended by a signal leaves its stand-in of sysfs where it ran.
        return subprocess.run(
            [tool], env=operate.environment(), cwd=operate.folder(), capture_output=True, text=True, check=True
        ).stdout

    def bad(self, tool: str) -> dict[str, Check]:
        """Checks that did not pass, by subject."""
        checks = verify(TOOLS[tool](self.said(tool)), self.hosts, rate(network.RATE))
        return {check.subject: check for check in checks if check.outcome is not Outcome.PASS}

    def do(self, *commands: str) -> None:
        """Give ibsim commands."""
        with operate.console().open("w") as pipe:
            pipe.write("".join(f"{command}\n" for command in commands))

    def nic(self, host: str, rail: int) -> tuple[str, str]:
        """Port of a rail and port of its switch, as ibsim calls them."""
        node = next(one for one in self.net.nics if one.name == f"{host} ibp{16 * (rail + 1)}s0")
        switch, port = node.links[0]
        return f'"{node.id}"[1]', f'"{switch.id}"[{port}]'

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for the subnet manager."""
        end = time.monotonic() + SECONDS
        while not is_so() and time.monotonic() < end:
            time.sleep(0.5)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lab of our own, whatever else runs here."""
    folder, name = tmp_path_factory.mktemp("fabric"), uuid4().hex[:8]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "state_dir", lambda: folder / "state")
        patch.setattr(paths, "lab_id", lambda: name)
        yield folder
        operate.down()


@pytest.fixture(scope="module")
def running(place: Path) -> Fabric:
    """Eight hosts of eight rails on two leaves."""
    return Fabric(_stack(place, hosts=8))


@pytest.fixture
def fabric(running: Fabric) -> Fabric:
    """The fabric, without a fault."""
    running.until(lambda: not running.bad("iblinkinfo"))
    return running


@pytest.mark.parametrize("tool", TOOLS)
def test_a_fabric_without_faults_passes(fabric: Fabric, tool: str) -> None:
    """Every rail of every host, by either tool."""
    checks = verify(TOOLS[tool](fabric.said(tool)), fabric.hosts, rate(network.RATE))
    assert [check.outcome for check in checks] == [Outcome.PASS] * 64


@pytest.mark.parametrize("tool", TOOLS)
def test_a_link_that_is_down_is_named(fabric: Fabric, tool: str) -> None:
    """Host and rail, and nothing else."""
    nic, switch = fabric.nic("h100-0003", 5)
    fabric.do(f"Unlink {nic}")
    fabric.until(lambda: bool(fabric.bad(tool)))
    bad = fabric.bad(tool)
    fabric.do(f"Link {nic} {switch}")
    assert {subject: check.found for subject, check in bad.items()} == {"h100-0003 rail 5": "no link"}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (("h100-0001", 2), ("h100-0002", 6), "which is for rail 6 of h100-leaf-0 (3 of 4 cables)"),
        (("h100-0001", 2), ("h100-0006", 2), "which is for rail 2 of h100-leaf-1 (3 of 4 cables)"),
    ],
    ids=["wrong rail", "wrong leaf"],
)
def test_cables_that_are_swapped_are_named(
    fabric: Fabric, one: tuple[str, int], other: tuple[str, int], said: str
) -> None:
    """Both, each with the switch that it is on, what that is for, and the one to swap it with."""
    (nic, switch), (far_nic, far_switch) = fabric.nic(*one), fabric.nic(*other)
    fabric.do(f"Unlink {nic}", f"Unlink {far_nic}", f"Link {nic} {far_switch}", f"Link {far_nic} {switch}")
    fabric.until(lambda: {check.found[:3] for check in fabric.bad("iblinkinfo").values()} == {"on "})
    bad = [fabric.bad(tool) for tool in TOOLS]
    fabric.do(f"Unlink {nic}", f"Unlink {far_nic}", f"Link {nic} {switch}", f"Link {far_nic} {far_switch}")
    for found in bad:
        assert set(found) == {f"{one[0]} rail {one[1]}", f"{other[0]} rail {other[1]}"}
        check = found[f"{one[0]} rail {one[1]}"]
        assert (check.outcome, check.action) == (Outcome.FAIL, f"swap it with {other[0]} rail {other[1]}")
        assert said in check.found


def test_a_lost_uplink_is_named(fabric: Fabric) -> None:
    """The switch with fewer links to others than most have."""
    leaf = next(node for node in fabric.net.switches if node.name == "h100-leaf-1 rail 3")
    spine, port = leaf.links[0]
    fabric.do(f'Unlink "{leaf.id}"[1]')
    fabric.until(lambda: bool(fabric.bad("ibnetdiscover")))
    bad = [fabric.bad(tool) for tool in TOOLS]
    fabric.do(f'Link "{leaf.id}"[1] "{spine.id}"[{port}]')
    assert [{subject: check.found for subject, check in found.items()} for found in bad] == [
        {"switch 'h100-leaf-1 rail 3'": "1 link to other switches"}
    ] * len(TOOLS)


def test_nothing_is_left(place: Path) -> None:
    """Neither a program nor a file; a second time there is nothing to end."""
    assert set(operate.running()) == {"ibsim", "opensm"}
    assert operate.down()
    assert (operate.running(), operate.folder().exists(), operate.down()) == ({}, False, False)


def test_links_that_are_slow_or_narrow_are_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the fabric itself settled on them."""
    text = network.Network.text.fget  # type: ignore[attr-defined]  # a property has one
    monkeypatch.setattr(network.Network, "text", property(lambda made: _spoiled(text(made))))
    fabric = Fabric(_stack(place, hosts=8))
    for tool in TOOLS:
        assert {subject: check.found.partition(" on ")[0] for subject, check in fabric.bad(tool).items()} == {
            "h100-0000 rail 0": "slow: 4xQDR", "h100-0005 rail 1": "narrow: 1xHDR",
        }  # fmt: skip


def _spoiled(text: str) -> str:
    """The same network with two ports of switches that can do less."""
    for name, worse in {"h100-0000 ibp16s0": "4xQDR", "h100-0005 ibp32s0": "1xHDR"}.items():
        text = text.replace(f'# "{name}" lid 0 {network.RATE}', f'# "{name}" lid 0 {worse}')
    return text


def test_too_many_hosts_are_refused(place: Path) -> None:
    """Before anything is started."""
    with pytest.raises(ConfigError, match="has 2049 hosts with rails — from 1 to 2048 are allowed here"):
        hosts.of_stack(str(_stack(place, hosts=2049)))
