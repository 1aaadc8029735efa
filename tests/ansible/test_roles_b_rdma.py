"""Role rdma, played on a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ansible.fakes import packages
from tests.ansible.fakes.packages import Package
from tests.ansible.fakes.sandbox import STATE, Sandbox, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="needs root and mounts of its own"),
]

ROLE = "rdma"
NETWORK = """
for rail in 0 1; do ip link add "rail$rail" type veth peer name "far$rail" && ip link set "far$rail" up; done
ip link set rail0 up && ip link set rail1 up
[ ! -e "$root/etc/sysctl.d/91-railwright-rdma.conf" ] || {
    chroot "$root" networkctl boot && chroot "$root" sysctl --quiet --load=/etc/sysctl.d/91-railwright-rdma.conf; }
"""
"""Two rails, and what systemd does of them at a boot."""
CARDS = ("0000:18:00.0", "0000:3a:00.0")
RAILS = [
    {"interface": f"rail{number}", "pci": "", "address": f"10.12.{number}.10/24", "gateway": ""} for number in (0, 1)
]
METAL = [
    rail | {"pci": card, "gateway": f"10.12.{n}.1"} for n, (rail, card) in enumerate(zip(RAILS, CARDS, strict=True))
]
RXE: dict[str, Any] = {"rdma_fabric": "roce", "rdma_device": "rxe", "rdma_rails": RAILS}
ROCE: dict[str, Any] = {"rdma_fabric": "roce", "rdma_rails": METAL}
IB: dict[str, Any] = {
    "rdma_fabric": "infiniband", "rdma_mtu": 4092, "rdma_subnet_manager": "opensm",
    "rdma_rails": [rail | {"address": "", "gateway": ""} for rail in METAL],
    "rdma_partitions": [{"name": "Default", "pkey": "0x7fff", "members": ["ALL"]}],
}  # fmt: skip
PACKAGES = (
    Package("rdma-core", "44.0-2"), Package("ibverbs-utils", "44.0-2"), Package("perftest", "4.5"),
    Package("infiniband-diags", "44.0-2"), Package("opensm", "3.3.23", service="opensm", starts=True),
)  # fmt: skip


def _machine(folder: Path, layer: str = "Ethernet") -> Sandbox:
    machine = Sandbox(folder, NETWORK)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", PACKAGES))
    machine.write(f"{STATE}/modules.json", '["rdma_rxe"]')
    machine.write("usr/lib/systemd/system/systemd-networkd.service", "[Service]\nExecStart=/bin/true\n")
    for number in (0, 1):
        # More than InfiniBand needs: a file does not grow with what is set.
        machine.write(f"sys/class/net/rail{number}/mtu", "4200\n" if layer == "InfiniBand" else "1500\n")
        if layer:
            _card(machine, number, layer)
    return machine


def _card(machine: Sandbox, number: int, layer: str) -> None:
    name, device = f"rail{number}", f"sys/class/infiniband/mlx5_{number}"
    machine.write(f"sys/class/net/{name}/device/infiniband/mlx5_{number}/node_guid", "1\n")
    machine.write(f"sys/bus/pci/devices/{CARDS[number]}/net/{name}/mtu", "1500\n")
    for side in ("np", "rp"):
        machine.write(f"sys/class/net/{name}/ecn/roce_{side}/enable/3", "0\n")
    port = {
        "state": "4: ACTIVE", "phys_state": "5: LinkUp", "link_layer": layer, "gid_attrs/types/3": "RoCE v2",
        "gids/3": "0000:0000:0000:0000:0000:ffff:0a0c:000a",
    }  # fmt: skip
    for file, text in {"interface": name, "tc/1/traffic_class": "0"}.items():
        machine.write(f"{device}/{file}", f"{text}\n")
    for file, text in port.items():
        machine.write(f"{device}/ports/1/{file}", f"{text}\n")


def _reboot(machine: Sandbox) -> None:
    """Firmware takes what was set."""
    script = (
        "import json, pathlib\n"
        "for path in pathlib.Path('/var/lib/fakes/firmware').glob('*'):\n"
        "    now = json.loads(path.read_text())\n"
        "    path.write_text(json.dumps({'current': now['next'], 'next': now['next']}))\n"
    )
    machine.run(["python3", "-c", script])
    for what in ("drain", "reboot"):
        machine.path(f"run/railwright/{what}-due/{ROLE}").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("variables", "layer"),
    [(RXE, ""), (ROCE | {"rdma_firmware": ["NUM_OF_VFS=0"]}, "Ethernet"), (IB, "InfiniBand")],
    ids=["rxe", "roce", "infiniband"],
)
def test_it_does_what_check_mode_says_and_then_nothing(tmp_path: Path, variables: dict[str, Any], layer: str) -> None:
    """Check predicts exactly what the run changes; a second run after a reboot changes nothing, and nothing waits."""
    machine = _machine(tmp_path, layer)
    predicted = machine.play(ROLE, "--check", "--diff", **variables)
    done = machine.play(ROLE, **variables)
    assert (predicted.status, done.status) == (0, 0), predicted.failure + done.failure
    assert done.changed != []
    assert done.changed == predicted.changed
    _reboot(machine)
    again = machine.play(ROLE, **variables)
    assert (again.status, again.changed) == (0, []), again.failure
    assert machine.read("run/railwright/reboot-due/rdma") == ""


@pytest.mark.parametrize(("variables", "layer"), [(ROCE, "Ethernet"), (IB, "InfiniBand")], ids=["roce", "infiniband"])
def test_a_run_that_is_killed_at_any_change_is_ended_by_the_next(
    tmp_path: Path, variables: dict[str, Any], layer: str
) -> None:
    """Each run is killed after its first change, until one has nothing left to change; none of them fails."""
    runs = _machine(tmp_path, layer).play_killed(ROLE, **variables)
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])


def test_a_rail_s_own_network_and_nobody_else_s(tmp_path: Path) -> None:
    """Address, size, table and rule of each rail, and routes of pods are left."""
    machine = _machine(tmp_path)
    assert machine.play(ROLE, **ROCE).status == 0
    rail = machine.read("etc/systemd/network/05-railwright-rail1.network").splitlines()
    wanted = {
        "Name=rail1",
        "MTUBytes=4200",
        "Address=10.12.1.10/24",
        "Table=101",
        "Gateway=10.12.1.1",
        "From=10.12.1.10",
    }
    assert wanted <= set(rail)
    assert "Path=pci-0000:3a:00.0" in machine.read("etc/systemd/network/05-railwright-rail1.link")
    assert "ManageForeignRoutingPolicyRules=no" in machine.read("etc/systemd/networkd.conf.d/90-railwright.conf")
    assert [call for call in machine.calls("systemctl") if "reload" in call or "enable" in call] == []


def test_firmware_waits_for_a_reboot(tmp_path: Path) -> None:
    """Each parameter is set for the next boot, ours and the ones that are named, and the host says which."""
    machine = _machine(tmp_path)
    run = machine.play(ROLE, **ROCE, rdma_firmware=["NUM_OF_VFS=0"])
    assert run.status == 0, run.failure
    assert [call.split()[-1] for call in machine.calls("mlxconfig")] == [
        "LINK_TYPE_P1=2",
        "SRIOV_EN=0",
        "NUM_OF_VFS=0",
    ] * 2
    assert "0000:18:00.0: NUM_OF_VFS is 8, and 0 after a boot" in machine.read("run/railwright/reboot-due/rdma")


def test_parameters_that_a_boot_unlocks_are_waited_for(tmp_path: Path) -> None:
    """They are not there until then; without what unlocks them they are refused."""
    machine = _machine(tmp_path)
    run = machine.play(ROLE, **ROCE, rdma_firmware=["MAX_ACC_OUT_READ=128"])
    assert "does not show MAX_ACC_OUT_READ" in run.failure
    run = machine.play(ROLE, **ROCE, rdma_firmware=["ADVANCED_PCI_SETTINGS=1", "MAX_ACC_OUT_READ=128"])
    assert run.status == 0, run.failure
    assert "MAX_ACC_OUT_READ appears with a boot" in machine.read("run/railwright/reboot-due/rdma")


def test_rails_in_use_wait_for_a_drain(tmp_path: Path) -> None:
    """They go on as they are; drained, they are changed."""
    machine = _machine(tmp_path)
    machine.write(f"{STATE}/queue_pairs.json", '[{"ifname":"mlx5_0","qpn":9,"type":"RC","pid":77,"comm":"python3"}]')
    run = machine.play(ROLE, **ROCE)
    assert run.status == 0, run.failure
    assert machine.read("run/railwright/drain-due/rdma") == "rails are to be changed, and processes 77 use them\n"
    assert machine.calls("networkctl") + machine.calls("mlnx_qos") == []
    drained = machine.play(ROLE, **ROCE, rdma_drained=True)
    assert drained.status == 0, drained.failure
    assert machine.read("run/railwright/drain-due/rdma") == ""
    assert len(machine.calls("mlnx_qos")) == 2


def test_each_instance_of_the_subnet_manager_is_told_of_partitions(tmp_path: Path) -> None:
    """Once, at a change: Debian's unit runs one for each port, and has no process of its own."""
    machine = _machine(tmp_path, "InfiniBand")
    runs = [machine.play(ROLE, **IB) for _ in range(2)]
    assert [run.failure for run in runs] == ["", ""]
    told = [call for call in machine.calls("systemctl") if "SIGHUP" in call]
    assert told == ["systemctl kill --signal=SIGHUP opensm*.service"]


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        (
            "etc/netplan/50-cloud-init.yaml",
            "network:\n  ethernets:\n    rail0:\n      dhcp4: true\n",
            "/etc/netplan/50-cloud-init.yaml",
        ),
        ("etc/network/interfaces", "iface rail1 inet dhcp\n", "/etc/network/interfaces"),
        ("etc/sysctl.d/99-site.conf", "net.ipv4.conf.rail0.arp_ignore = 1\n", "/etc/sysctl.d/99-site.conf"),
    ],
    ids=["netplan", "ifupdown", "sysctl"],
)  # fmt: skip
def test_a_second_owner_is_refused_with_both_named(tmp_path: Path, file: str, text: str, named: str) -> None:
    """Nothing is touched."""
    machine = Sandbox(tmp_path)
    machine.write(file, text)
    run = machine.play(ROLE, **RXE)
    assert f"{named} and the role rdma both configure rails" in run.failure
    assert run.changed == []


def test_network_manager_is_told_to_leave_the_rails(tmp_path: Path) -> None:
    """It would ask for addresses of its own on them."""
    machine = Sandbox(tmp_path)
    wants = machine.path("etc/systemd/system/multi-user.target.wants/NetworkManager.service")
    wants.parent.mkdir(parents=True)
    wants.symlink_to("/lib/systemd/system/NetworkManager.service")
    assert (
        "NetworkManager and the role rdma (systemd-networkd) both take rails rail0, rail1"
        in machine.play(ROLE, **RXE).failure
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"rdma_fabric": "roce"}, "rdma_rails is empty"),
        (RXE | {"rdma_rails": [RAILS[0] | {"address": ""}]}, "rails rail0 have no IPv4 address"),
        (RXE | {"rdma_subnet_manager": "opensm"}, "only InfiniBand has one"),
        (ROCE, "nothing is at PCI 0000:18:00.0, 0000:3a:00.0"),
        (RXE | {"rdma_firmware": ["CNP_DSCP_P1"]}, "rdma_firmware has CNP_DSCP_P1"),
        (RXE | {"rdma_firmware": ["ATS_ENABLED=1"]}, "rdma_firmware has ATS_ENABLED=1"),
    ],
    ids=["no-rails", "no-address", "no-subnet", "no-card", "no-number", "another-s"],
)
def test_variables_that_cannot_hold_are_refused(tmp_path: Path, variables: dict[str, Any], said: str) -> None:
    """Before anything is touched."""
    run = Sandbox(tmp_path).play(ROLE, **variables)
    assert said in run.failure
    assert run.changed == []
