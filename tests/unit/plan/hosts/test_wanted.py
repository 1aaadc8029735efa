"""Which settings a host must have, with which values, and what it is asked for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.catalog.host_tuning import SETTINGS
from infra.catalog.host_tuning.kinds import GPU_BOARDS
from infra.catalog.host_tuning.setting import Value
from infra.errors import ConfigError
from infra.plan.hosts import HostFacts, Rail, readings, wanted

RAILS = (Rail("ens1", "0000:18:00.0", "10.1.0.5/24"), Rail("ens2", "0000:2a:00.0", "10.2.0.5/24"))
METAL = HostFacts("b300-01", "large", "hgx-b300", "roce", rails=RAILS)
HOSTS = {
    "B300 with RoCE": METAL,
    "B300 with InfiniBand": replace(METAL, fabric="infiniband"),
    "B200": replace(METAL, board="hgx-b200"),
    "H100": replace(METAL, board="hgx-h100"),
    "a guest": replace(METAL, machine="virtual"),
    "Arm": replace(METAL, board="hgx-h200", cpu="arm"),
    "outside a cluster": replace(METAL, kubernetes=False),
    "no fabric": replace(METAL, fabric="none", rails=()),
    "no GPUs": replace(METAL, board="lab-host", fabric="none", rails=(), machine="virtual"),
}


def _ids(host: HostFacts) -> set[str]:
    return {item.setting.id for item in wanted(host)}


def test_a_board_that_is_not_known_has_no_settings() -> None:
    """It is not taken for another one (OCI's check had no row for B300 and passed)."""
    with pytest.raises(ConfigError, match=r"'hgx-b301' is not known, .* did you mean 'hgx-b300'"):
        wanted(replace(METAL, board="hgx-b301"))


@pytest.mark.parametrize(
    ("host", "has", "lacks"),
    [
        ("B300 with RoCE", {"pcie.acs", "kernel_settings.gc_thresh3", "rdma.priority"}, {"rdma.lid"}),
        ("B300 with InfiniBand", {"rdma.lid"}, {"kernel_settings.gc_thresh3", "rdma.priority", "rdma.address"}),
        ("H100", {"nvidia_driver.fabric_port"}, {"nvidia_driver.subnet_manager"}),
        ("B200", {"nvidia_driver.subnet_manager", "nvidia_driver.link_modules"}, {"nvidia_driver.fabric_port"}),
        ("a guest", {"kernel_settings.gc_thresh3", "rdma.ats"}, {"pcie.acs", "pcie.iommu", "cpu.governor"}),
        ("Arm", {"kernel_settings.page_size"}, {"pcie.iommu", "cpu.x2apic"}),
        ("outside a cluster", {"pcie.acs"}, {"kernel_settings.ip_forward", "kubelet.service"}),
        ("no fabric", {"pcie.acs"}, {"rdma.mtu", "pcie.gpu_nic_paths"}),
        ("no GPUs", {"kernel_settings.swappiness"}, {"nvidia_driver.flavour", "storage.filesystem"}),
    ],
)
def test_a_host_has_the_settings_of_its_kind(host: str, has: set[str], lacks: set[str]) -> None:
    """A guest needs ACS on; neighbours matter where addresses do; the port of the fabric manager ends with NVLink 5."""
    found = _ids(HOSTS[host])
    assert has <= found
    assert not lacks & found


@pytest.mark.parametrize(
    ("host", "setting", "value"),
    [
        ("B300 with RoCE", "nvidia_driver.nvlink", "nvlink5"),
        ("H100", "nvidia_driver.nvlink", "nvswitch"),
        ("B300 with RoCE", "nvidia_driver.branch", "580"),
        ("B200", "nvidia_driver.branch", "570"),
        ("B300 with RoCE", "nvidia_driver.power_limit", 1_100),
        ("H100", "nvidia_driver.power_limit", 700),
        ("B300 with RoCE", "pcie.gpus", "8 x 10de:3182"),
        ("H100", "pcie.gpus", "8 x 10de:2330"),
        ("B300 with RoCE", "pcie.gpu_generation", 6),
        ("B200", "pcie.gpu_generation", 5),
        ("B300 with RoCE", "rdma.rate", 400),
        ("B300 with InfiniBand", "rdma.rate", 800),
        ("B300 with RoCE", "rdma.link_type", 2),
        ("B300 with InfiniBand", "rdma.link_type", 1),
        ("B300 with InfiniBand", "rdma.mtu", 4_092),
        ("a guest", "rdma.ats", 1),
        ("Arm", "nvidia_driver.imex", "active"),
        ("B300 with RoCE", "node_health.exporter", "absent"),
        ("outside a cluster", "node_health.exporter", "running"),
    ],
)
def test_a_value_is_that_of_the_kind_of_host(host: str, setting: str, value: Value) -> None:
    """By board, fabric, machine, CPU and cluster; figures of one board are not taken for another's."""
    assert {item.value for item in wanted(HOSTS[host]) if item.setting.id == setting} == {value}


@pytest.mark.parametrize("board", GPU_BOARDS)
def test_no_board_is_left_out_of_a_setting_by_board(board: str) -> None:
    """A setting that has values by board only has one for each (gpud had none for B300, and said nothing)."""
    host = replace(METAL, board=board)
    by_board = {one.id for one in SETTINGS if one.value is None and one.cases}
    assert by_board - _ids(host) == set()


def test_each_rail_is_asked_on_its_own() -> None:
    """Under its interface, with its own address."""
    found = {item.id: item for item in wanted(METAL) if item.setting.id in ("rdma.mtu", "rdma.routing")}
    assert set(found) == {"rdma.mtu[ens1]", "rdma.mtu[ens2]", "rdma.routing[ens1]", "rdma.routing[ens2]"}
    assert found["rdma.mtu[ens2]"].readings[0].ask == ("/sys/class/net/ens2/mtu",)
    assert found["rdma.routing[ens2]"].argument == "ens2 10.2.0.5/24"


def test_rails_that_nobody_names_are_wanted_all_the_same() -> None:
    """With nothing to ask: the check cannot tell, and is not left out."""
    found = [item for item in wanted(replace(METAL, rails=())) if item.setting.id == "rdma.port_state"]
    assert [(item.id, item.readings) for item in found] == [("rdma.port_state", ())]


def test_a_rail_without_pci_address_is_not_held_against_one() -> None:
    """And its firmware, which is asked by that address, is not asked at all."""
    found = {item.setting.id: item for item in wanted(replace(METAL, rails=(Rail("ens1", "", "10.1.0.5/24"),)))}
    assert "rdma.interface" not in found
    assert found["rdma.ats"].readings == ()


def test_what_the_inventory_says_wins() -> None:
    """Over default and cases, in values and in what is asked; a driver version is held only where one is said."""
    said: dict[str, Value] = {"rdma_mtu": 9_000, "rdma_priority": 4, "nvidia_driver_version": "595.91.07"}
    found = {item.id: item for item in wanted(replace(METAL, variables=said))}
    assert (found["rdma.mtu[ens1]"].value, found["nvidia_driver.version"].value) == (9_000, "595.91.07")
    assert found["rdma.ecn[ens1]"].readings[0].ask == ("/sys/class/net/ens1/ecn/roce_np/enable/4",)
    assert "nvidia_driver.version" not in _ids(METAL)


def test_what_settings_share_is_asked_once() -> None:
    """Nobody runs lspci or nvidia-smi ten times; dpkg's own format stays as it is."""
    asked = readings(wanted(METAL))
    assert len(asked) == len(set(asked))
    assert [one.ask[0] for one in asked].count("lspci") == 1
    assert any("${Package}" in word for one in asked for word in one.ask)
    assert not [one for one in asked if any("{" in word.replace("${", "") for word in one.ask)]
