"""The simulated fabric has each rail of each host on the switch of its leaf, in a form that ibsim reads."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest
import yaml

from infra.errors import ConfigError
from lab import cli, paths
from lab.ib import hosts, network, operate
from lab.ib.hosts import Port


def _ports(count: int, per_leaf: int) -> list[Port]:
    """Eight rails for each of so many hosts."""
    every = [(host, rail) for host in range(count) for rail in range(8)]
    return [Port(f"h{host}", f"leaf-{host // per_leaf}", rail, f"ib{rail}") for host, rail in every]


@pytest.mark.parametrize(("count", "per_leaf"), [(1, 1), (5, 2), (64, 32), (2048, 32)])
def test_every_rail_hangs_on_the_switch_of_its_leaf(count: int, per_leaf: int) -> None:
    """One for each rail of each leaf, and with uplinks to the same spines as all of that rail."""
    made = network.build(_ports(count, per_leaf))
    assert len(made.nics) == 8 * count
    for nic, port in zip(made.nics, _ports(count, per_leaf), strict=True):
        assert [switch.name for switch, _ in nic.links] == [f"{port.leaf} rail {port.rail}"]
    assert len(made.switches) == network.CORES + 8 * network.SPINES + 8 * -(-count // per_leaf)


def test_both_ends_of_each_link_say_the_same() -> None:
    """ibsim refuses a network where they do not; and no GUID is of two nodes."""
    made = network.build(_ports(5, 2))
    nodes = (*made.switches, *made.nics)
    for node in nodes:
        for number, (other, port) in enumerate(node.links, start=1):
            assert other.links[port - 1] == (node, number)
    assert max(Counter(node.guid for node in nodes).values()) == 1
    rows = re.findall(r'^\[\d+\] "[HS]-\w{16}"\[\d+\] # .*"[^"]+" lid 0 4xHDR$', made.text, re.MULTILINE)
    assert len(rows) == sum(len(node.links) for node in nodes)


def test_a_leaf_that_no_switch_holds_is_refused() -> None:
    """With what to change."""
    with pytest.raises(ConfigError, match="needs 255 ports — 254 are allowed — set hosts_per_leaf"):
        network.build(_ports(253, 253))


def test_the_labs_own_stack_plays_infiniband() -> None:
    """Hosts that a stack only counts get names, leaves and rails; a pool without rails is left out."""
    said = hosts.of_stack("lab")
    assert {name: (pool["fabric"], len(pool["machines"])) for name, pool in said["pools"].items()} == {
        "b300": ("infiniband", 4), "h200": ("infiniband", 2),
    }  # fmt: skip
    ports = list(hosts.ports(said))
    assert Counter((port.leaf, port.rail) for port in ports)["b300-leaf-1", 7] == 2
    assert ports[0] == Port("b300-0000", "b300-leaf-0", 0, "ibp16s0")


def test_machines_of_a_stack_keep_names_leaves_and_interfaces() -> None:
    """As the example of bare metal lists them."""
    ports = list(hosts.ports(hosts.of_stack("bare-h100")))
    assert len(ports) == 32
    assert {ports[0], ports[-1]} == {Port("h100-00", "leaf-0", 0, "rail0"), Port("h100-03", "leaf-1", 7, "rail7")}


def test_a_stack_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """On the command line, with what to name."""
    assert cli.main(["ib", "up", "nowhere"]) == cli.REFUSED
    assert "name one of stacks/, or a file" in capsys.readouterr().err


def test_a_stack_without_rails_is_refused(tmp_path: Path) -> None:
    """There is nothing to cable."""
    said = yaml.safe_load((paths.repo_root() / "stacks/Pulumi.bare-h100.yaml").read_text(encoding="utf-8"))
    said["config"]["railwright:pools"]["h100"] = {"board": "hgx-h100", "hosts": 4, "fabric": "none"}
    (tmp_path / "Pulumi.none.yaml").write_text(yaml.safe_dump(said), encoding="utf-8")
    with pytest.raises(ConfigError, match="has 0 hosts with rails"):
        hosts.of_stack(str(tmp_path / "Pulumi.none.yaml"))


def test_without_a_fabric_nothing_runs_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status and down say so, run refuses."""
    monkeypatch.setattr(paths, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(operate, "running", dict)
    assert cli.main(["ib", "status"]) == 0
    assert cli.main(["ib", "run", "ibnetdiscover"]) == cli.REFUSED
    said = capsys.readouterr()
    assert "there is no fabric; `lab ib up STACK` makes one" in said.out
    assert "there is no fabric" in said.err


def test_a_program_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library under it keeps files where it runs, and only an orderly end takes them away."""
    here, fabric = tmp_path / "here", tmp_path / "fabric"
    here.mkdir(), fabric.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(operate, "folder", lambda: fabric)
    monkeypatch.setattr(operate, "running", lambda: {"ibsim": 1})
    monkeypatch.setattr(operate, "environment", lambda: {"PATH": os.environ["PATH"]})
    assert cli.main(["ib", "run", "sh", "-c", f"touch sys-1 && pwd >{tmp_path}/ran && kill -9 $$"]) == -signal.SIGKILL
    assert Path((tmp_path / "ran").read_text().strip()).parent == fabric
    assert [*here.iterdir(), *fabric.iterdir()] == []
