"""An Ansible inventory, its group variables included, becomes typed hosts; what is not one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.config.load import clone_root
from infra.errors import ConfigError
from infra.plan.hosts import wanted
from runbooks.lib.hosts.listed import Listed, read

KNOWN = {"host_pool": "large", "host_board": "hgx-b300", "host_fabric": "roce", "host_leaf": "leaf-7"}


def _read(folder: Path, hosts: dict[str, Any], **variables: Any) -> Listed:
    (folder / "group_vars").mkdir(exist_ok=True)
    (folder / "group_vars/all.yml").write_text(json.dumps(variables), encoding="utf-8")
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    return read(folder / "hosts.yml")


def test_a_host_is_read_with_its_rails_and_values(tmp_path: Path) -> None:
    """Values of groups and hosts count in place of the catalogue's, the host's own before its group's."""
    rail = {"interface": "ens1", "pci": "0000:18:00.0", "address": "10.1.0.5/24", "gateway": ""}
    own = {"ansible_host": "10.0.0.1", "host_rack": "r1", "rdma_rails": [rail], "kernel_settings_swappiness": 5}
    hosts = {"b300-01": {**KNOWN, **own}, "b300-02": {**KNOWN, "ansible_connection": "local"}}
    ssh = f"-o BatchMode=yes -F {tmp_path / 'ssh config'!s}".replace(" config", "\\ config")
    said = _read(tmp_path, hosts, ansible_ssh_common_args=ssh, kernel_settings_swappiness=1, somebody_elses=True)
    first, second = said.hosts
    assert (first.name, first.address, first.leaf, first.rack) == ("b300-01", "10.0.0.1", "leaf-7", "r1")
    assert (first.rails[0].interface, first.rails[0].subnet) == ("ens1", "10.1.0.0/24")
    assert (dict(first.variables), dict(second.variables)) == (
        {"kernel_settings_swappiness": 5}, {"kernel_settings_swappiness": 1},
    )  # fmt: skip
    assert (said.ssh_config, said.local) == (tmp_path / "ssh config", frozenset({"b300-02"}))
    values = {item.id: item.value for item in wanted(first)}
    assert values["kernel_settings.swappiness"] == 5


@pytest.mark.parametrize(("said", "is_in"), [({}, True), ({"kernel_settings_kubernetes": False}, False)],
                         ids=["nothing said", "no cluster"])  # fmt: skip
def test_a_host_is_in_a_cluster_unless_it_says_otherwise(tmp_path: Path, said: dict[str, Any], is_in: bool) -> None:
    """Settings that only pods need, such as forwarding, are asked of it or not."""
    (host,) = _read(tmp_path, {"b300-01": KNOWN}, **said).hosts
    assert host.kubernetes is is_in
    assert ("kernel_settings.ip_forward" in {item.id for item in wanted(host)}) is is_in


def test_the_example_is_read() -> None:
    """What the plan makes of a stack comes back as it was."""
    said = read(clone_root() / "ansible/inventory/example")
    assert [host.name for host in said.hosts] == [f"h100-0{number}" for number in range(4)]
    assert {(host.pool, host.board, host.fabric, host.machine, len(host.rails)) for host in said.hosts} == {
        ("h100", "hgx-h100", "roce", "metal", 8)
    }


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"host_board": None}, "host 'b300-01' — host_board does not say its board"),
        ({"kernel_settings_swappiness": True}, "kernel_settings_swappiness is True, a number or a word is meant"),
        ({"kernel_settings_swappiness": "{{ 4 }}"}, "which is told in a play only"),
        ({"rdma_rails": [{"interface": "ens1", "number": 1}]}, "rdma_rails — .*'number'"),
        ({"rdma_rails": "ens1"}, "rdma_rails — "),
    ],
    ids=["no board", "a boolean", "a template", "a rail of other fields", "no rails"],
)
def test_a_host_that_is_none_of_ours_is_told(tmp_path: Path, variables: dict[str, Any], said: str) -> None:
    """With its name, and what is wrong of it."""
    with pytest.raises(ConfigError, match=said):
        _read(tmp_path, {"b300-01": {**KNOWN, **variables}})


def test_an_inventory_that_is_none_is_told(tmp_path: Path) -> None:
    """One that is not there, one that lists nobody, one that is no inventory."""
    with pytest.raises(ConfigError, match="is not there"):
        read(tmp_path / "hosts.yml")
    with pytest.raises(ConfigError, match="lists no host"):
        _read(tmp_path, {})
    (tmp_path / "hosts.yml").write_text("plugin: railwright\nstack_file: nowhere.yaml\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="ansible-inventory"):
        read(tmp_path / "hosts.yml")


def test_hosts_are_chosen_by_name_pool_and_leaf(tmp_path: Path) -> None:
    """A choice of nobody is a mistake, not an empty success."""
    said = _read(tmp_path, {"b300-01": KNOWN, "b300-02": KNOWN | {"host_leaf": "leaf-8"}})
    assert [one.name for one in said.chosen(leaf="leaf-8")] == ["b300-02"]
    assert len(said.chosen(pool="large")) == 2
    with pytest.raises(ConfigError, match="host 'b300-03', leaf 'leaf-8' — has none of the 2 hosts"):
        said.chosen(host="b300-03", leaf="leaf-8")
