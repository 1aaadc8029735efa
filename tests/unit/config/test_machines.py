"""Machines: each host of a pool once, with all that its fabric needs, or told what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.plan.machines import NAMED, machine, machines, rail
from tests.unit.plan.specs import LAB, read

KEY = "pools.gpus.machines"


def test_machines_that_fit_their_pool_are_taken() -> None:
    """In the order in which they stand."""
    spec = read(NAMED)
    assert spec.problems == ()
    assert [one.name for one in spec.machines["gpus"]] == ["gpus-0", "gpus-1", "gpus-2", "gpus-3"]
    assert str(spec.machines["gpus"][3].rails[7].address) == "10.107.0.13/24"


def _rails(*changed: dict[str, Any]) -> dict[str, Any]:
    """Rails of the last machine, the first ones changed."""
    rails = [rail(3, number) for number in range(8)]
    return {"rails": [{**one, **change} for one, change in zip(rails, [*changed, *[{}] * 8], strict=False)]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "gpus-0"}, "pools: name 'gpus-0' is listed twice; each machine and rail has its own"),
        ({"address": "10.0.0.10"}, "pools: address '10.0.0.10' is listed twice; each machine and rail has its own"),
        ({"address": "10.100.0.10"}, "pools: address '10.100.0.10' is listed twice; each machine and rail has its own"),
        (_rails({"address": "10.101.0.10/16"}),
         "pools: address '10.101.0.10' is listed twice; each machine and rail has its own"),
        ({"leaf": None}, f"{KEY}: gpus-3 without leaf, and the pool has a fabric; say which leaf each hangs on"),
        ({"leaf": "leaf-0"},
         f"{KEY}: 3 machines on leaf 'leaf-0', hosts_per_leaf is 2; raise it, or name the right leaf"),
        ({"leaf": "leaf.1"}, "pools: leaves 'leaf-1' and 'leaf.1' are one group of the inventory; rename one"),
        ({"rails": []}, f"{KEY}: gpus-3 has 0 rails, board 'hgx-h100' has 8; name each, or each port of each"),
        ({"rails": [rail(3, 0)]},
         f"{KEY}: gpus-3 has 1 rails, board 'hgx-h100' has 8; name each, or each port of each"),
        (_rails({"interface": "rail1"}), f"{KEY}: gpus-3 has interface 'rail1' twice; each rail has its own"),
        (_rails({"pci": "0000:11:00.0"}), f"{KEY}: gpus-3 has pci '0000:11:00.0' twice; each rail has its own"),
        (_rails({"address": None, "gateway": None}),
         f"{KEY}: gpus-3 has no address on rail 0 (rail0), and RoCE needs one; add it"),
        (_rails({"gateway": "10.9.0.1"}),
         f"{KEY}: gpus-3 has gateway 10.9.0.1 outside the subnet of rail 0 (rail0); correct it"),
        (_rails({"gateway": "10.100.0.13"}),
         f"{KEY}: gpus-3 has gateway 10.100.0.13 outside the subnet of rail 0 (rail0); correct it"),
    ],
    ids=["name", "address", "address of a rail", "address of two rails", "no leaf", "full leaf", "leaves of one group",
         "no rails", "one rail", "interface twice", "function twice", "no address", "far gateway", "own gateway"],
)  # fmt: skip
def test_what_machines_contradict_is_told(changes: dict[str, Any], said: str) -> None:
    """Each on a line of its own that names the machine."""
    assert said in read({"pools/gpus/machines": machines(**changes)}).problems


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "all"}, "'all' is a word of Ansible's own; name the machine otherwise"),
        ({"name": "GPU 3"}, "'GPU 3' is not allowed; write a host name: lower-case letters, digits, dashes and dots"),
        ({"name": True}, "True is what YAML makes of it; write it in quotes"),
        ({"leaf": 7}, "7 is what YAML makes of it; write it in quotes"),
        ({"rack": 1.5}, "1.5 is what YAML makes of it; write it in quotes"),
        ({"address": "10.0.0.300"}, "'10.0.0.300' is no IP address or host name; write one, without user and port"),
        ({"address": "root@h3"}, "'root@h3' is no IP address or host name; write one, without user and port"),
    ],
    ids=["reserved", "not a name", "yes", "number", "fraction", "mistyped", "user"],
)
def test_what_is_no_machine_is_told(changes: dict[str, Any], said: str) -> None:
    """With the value, and what is allowed."""
    key = next(iter(changes))
    assert f"{KEY}.3.{key}: {said}" in read({"pools/gpus/machines": machines(**changes)}).problems


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pci": 1080.0}, "1080.0 is what YAML makes of it; write it in quotes"),
        ({"pci": "18:00.0"}, "'18:00.0' is not allowed; write a PCI address such as \"0000:18:00.0\", in quotes"),
        ({"interface": "a-name-of-sixteen"},
         "'a-name-of-sixteen' is not allowed; write the name of a network interface, at most 15 characters"),
        ({"address": "10.1.0.5"}, "'10.1.0.5' is without prefix length; write it like 10.1.0.5/24"),
        ({"address": "10.1.0.0/24"}, "'10.1.0.0/24' is the address of the network itself; write the machine's own"),
        ({"address": "rail0.example"}, "'rail0.example' is no address with prefix length; write it like 10.1.0.5/24"),
        ({"gateway": "10.1.0.1/24"}, "'10.1.0.1/24' is no IP address; write one, without prefix length"),
        ({"adress": "10.1.0.5/24"}, "no such key; did you mean 'address'?"),
    ],
    ids=["read as a number", "no domain", "long", "no prefix", "network", "a name", "prefix", "typo"],
)  # fmt: skip
def test_what_is_no_rail_is_told(change: dict[str, Any], said: str) -> None:
    """Unquoted, 0000:18:00.0 is a number of base 60 to YAML."""
    key = next(iter(change))
    assert f"{KEY}.3.rails.0.{key}: {said}" in read({"pools/gpus/machines": machines(**_rails(change))}).problems


def test_yaml_does_read_an_unquoted_pci_address_as_a_number() -> None:
    """Otherwise the message above would be about nothing."""
    assert yaml.safe_load("0000:18:00.0") == 1080.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pools/gpus/hosts": 5}, f"{KEY}: 4 machines, and hosts is 5; name each host once, or set hosts to 4"),
        ({"pools/gpus/fabric": "none"},
         f"{KEY}: gpus-0 has 8 rails in a pool without fabric; set fabric, or leave them out"),
        ({"pools/gpus/machines_file": "m.yaml"}, "pools.gpus: machines and machines_file; choose one of them"),
    ],
    ids=["one too few", "rails without fabric", "two places"],
)  # fmt: skip
def test_machines_and_their_pool_agree(changes: dict[str, Any], said: str) -> None:
    """What one says of the other is one sentence."""
    assert said in read({**NAMED, **changes}).problems


@pytest.mark.parametrize("target", ["lab", "eks"])
def test_targets_with_their_own_hosts_take_no_machines(target: str) -> None:
    """A cloud makes them; the lab has two."""
    problems = read({**NAMED, "cluster/target": target}).problems
    assert f"{KEY}: 4 machines on target {target!r}, which has its own hosts; leave it out" in problems


@pytest.mark.parametrize("fabric", ["roce", "infiniband"])
def test_a_nic_of_two_ports_is_two_rails(fabric: str) -> None:
    """ConnectX-8 at 2 x 400G has 16 interfaces on 8 NICs; InfiniBand needs no address."""
    ports = [{"interface": f"p{port}", "address": f"10.{100 + port}.0.9/31"} for port in range(16)]
    ports = [{"interface": one["interface"]} for one in ports] if fabric == "infiniband" else ports
    assert read({"pools/gpus/machines": machines(rails=ports), "pools/gpus/fabric": fabric}).problems == ()


def test_a_machine_needs_a_name_only_where_there_is_no_fabric() -> None:
    """Pools of CPUs have no rails."""
    changes = {"pools/gpus": {"board": "hgx-h100", "hosts": 1, "machines": [{"name": "a"}]}, "models/chat/replicas": 1}
    assert read(changes).problems == ()


def test_the_lab_needs_no_machines() -> None:
    """Its hosts are known."""
    assert read(base=LAB).problems == ()


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps], ids=["yaml", "json"])
def test_machines_stand_in_a_file_of_their_own(tmp_path: Path, write: Any) -> None:
    """YAML by hand, JSON from where machines are listed."""
    (tmp_path / "m").write_text(write(machines()), encoding="utf-8")
    spec = read({"pools/gpus/machines_file": "m"}, root=tmp_path)
    assert spec.problems == ()
    assert spec.machines == read(NAMED).machines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "pools.gpus.machines_file: 'm' cannot be read (No such file or directory); name a file"),
        ("[", "pools.gpus.machines_file: 'm' is not YAML or JSON"),
        ("[" * 100_000, "pools.gpus.machines_file: 'm' is not YAML or JSON"),
        ("- " * 100_000, "pools.gpus.machines_file: 'm' is not YAML or JSON"),
        ("- {name: a, name: b}", "pools.gpus.machines_file: 'm' is not YAML or JSON: 'name' stands there twice"),
        ('[{"name": "a", "name": "b"}]',
         "pools.gpus.machines_file: 'm' is not YAML or JSON: 'name' stands there twice"),
        ("- {nam: a}", "m: pools.gpus.machines_file.0.nam: no such key; did you mean 'name'?"),
        ("a: b", "m: pools.gpus.machines_file: {'a': 'b'} is not allowed"),
        (json.dumps([machine(0)]), "pools.gpus.machines_file: 1 machines, and hosts is 4; name each host once"),
    ],
    ids=["no file", "no YAML", "nested", "nested blocks", "a key twice", "twice in JSON", "typo", "no list", "too few"],
)  # fmt: skip
def test_a_file_of_machines_that_cannot_be_read_is_a_mistake(tmp_path: Path, text: str | None, said: str) -> None:
    """Told beside all other mistakes of the stack, with the key and the file."""
    if text is not None:
        (tmp_path / "m").write_text(text, encoding="utf-8")
    problems = read({"pools/gpus/machines_file": "m"}, root=tmp_path).problems
    assert any(problem.startswith(said) for problem in problems), problems
