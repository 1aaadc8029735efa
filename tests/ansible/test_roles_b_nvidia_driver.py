"""Role nvidia_driver, played on a sandbox."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.host_tuning.parsers.units import upgrades
from infra.catalog.host_tuning.readings import CANDIDATES, PACKAGES
from tests.ansible.fakes import packages
from tests.ansible.fakes.packages import Package
from tests.ansible.fakes.sandbox import STATE, Sandbox, is_possible

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.skipif(not is_possible(), reason="needs root and mounts of its own"),
]

ROLE = "nvidia_driver"
OLD, MIDDLE, NEW = "580.95.05", "580.105.08", "580.126.09"
DRIVER: dict[str, Any] = {"nvidia_driver_version": NEW, "nvidia_driver_nvlink": "nvlink5"}
MODULES = '["mlx5_core", "mlx5_ib", "ib_umad", "nvidia", "nvidia_peermem", "ib_core"]'


def _packages(version: str) -> tuple[Package, ...]:
    return (
        Package("nvidia-open", f"{version}-1", service="nvidia-persistenced"),
        Package("nvidia-fabricmanager", f"{version}-1", service="nvidia-fabricmanager"),
        Package("libnvsdm", f"{version}-1"),
        Package("nvlsm", "2025.06.6-1"),
    )


def _machine(folder: Path) -> Sandbox:
    machine = Sandbox(folder)
    packages.only(machine, packages.source(machine, f"{STATE}/apt", (*_packages(OLD), *_packages(NEW))))
    machine.write(f"{STATE}/modules.json", MODULES)
    machine.path("etc/modprobe.d").mkdir(parents=True)
    return machine


def test_it_does_what_check_mode_says_and_then_nothing(tmp_path: Path) -> None:
    """Check predicts exactly what the run changes; a second run changes nothing, and nothing waits."""
    machine = _machine(tmp_path)
    predicted = machine.play(ROLE, "--check", "--diff", **DRIVER)
    done = machine.play(ROLE, **DRIVER)
    assert (predicted.status, done.status) == (0, 0), predicted.failure + done.failure
    assert done.changed != []
    assert done.changed == predicted.changed
    again = machine.play(ROLE, **DRIVER)
    assert (again.status, again.changed) == (0, []), again.failure
    assert machine.read("run/railwright/reboot-due/nvidia_driver") == ""
    assert [call for call in machine.calls("systemctl") if "reload" in call or "enable" in call] == []


def test_a_run_that_is_killed_at_any_change_is_ended_by_the_next(tmp_path: Path) -> None:
    """Each run is killed after its first change, until one has nothing left to change; none of them fails."""
    runs = _machine(tmp_path).play_killed(ROLE, **DRIVER)
    assert [run.failure for run in runs if run.failure] == []
    assert (runs[-1].status, runs[-1].changed) == (0, [])


def test_a_loaded_driver_is_exchanged_on_a_drained_host_by_a_reboot(tmp_path: Path) -> None:
    """Undrained nothing but the reason is written; drained, packages come, and the loaded driver waits for a boot.

    Nobody unloads it: another module may hold it, as gdrdrv does for ever (gpu-driver-container#869).
    """
    machine = _machine(tmp_path)
    machine.write("sys/module/nvidia/version", f"{OLD}\n")
    machine.write("sys/module/nvidia/holders/gdrdrv/refcnt", "1\n")
    run = machine.play(ROLE, **DRIVER)
    assert run.status == 0, run.failure
    said = machine.read("run/railwright/drain-due/nvidia_driver")
    assert said == f"driver {OLD} is loaded, and {NEW} is wanted\n"
    assert machine.read("etc/apt/preferences.d/railwright-nvidia") == ""
    machine.write(f"{STATE}/proc/driver/nvidia/params", "")
    drained = machine.play(ROLE, **DRIVER, nvidia_driver_drained=True)
    assert drained.status == 0, drained.failure
    assert f"driver {OLD} is loaded" in machine.read("run/railwright/reboot-due/nvidia_driver")
    assert machine.read("run/railwright/drain-due/nvidia_driver") == ""
    assert [call for call in machine.calls("modprobe") if "-r" in call] == []


def test_an_upgrade_is_what_check_mode_says_and_is_held_as_before(tmp_path: Path) -> None:
    """apt holds no longer what it exchanges, so that all of it is held anew."""
    machine = _machine(tmp_path)
    names = ("nvidia-open", "nvidia-fabricmanager", "libnvsdm")
    machine.run(["apt-get", "install", "--yes", *(f"{name}={OLD}-1" for name in names)])
    machine.run(["apt-mark", "hold", *names])
    machine.write("sys/module/nvidia/version", f"{OLD}\n")
    machine.write(f"{STATE}/proc/driver/nvidia/params", "")
    runs = [machine.play(ROLE, *check, **DRIVER, nvidia_driver_drained=True) for check in (["--check"], [])]
    assert [run.failure for run in runs] == ["", ""]
    assert runs[0].changed == runs[1].changed
    assert set(names) <= set(machine.run(["apt-mark", "showhold"]).stdout.split())


def test_packages_of_two_sources_are_refused(tmp_path: Path) -> None:
    """A fabric manager of another source does not match its driver, though its version says so."""
    machine = _machine(tmp_path)
    first = packages.source(machine, f"{STATE}/one", _packages(NEW)[:1])
    second = packages.source(machine, f"{STATE}/two", _packages(NEW)[1:])
    packages.only(machine, first, second.replace("file:/", "copy:/"))
    run = machine.play(ROLE, **DRIVER)
    assert "one source for all of them" in run.failure
    assert machine.run(["dpkg-query", "--show", "nvidia-open"]).returncode != 0


@pytest.mark.parametrize(
    ("file", "text", "variables", "said"),
    [
        ("etc/modprobe.d/site.conf", "options nvidia NVreg_RestrictProfilingToAdminUsers=0\n", {},
         "/etc/modprobe.d/site.conf and /etc/modprobe.d/railwright-nvidia.conf both set options of nvidia"),
        ("etc/fstab", "", {"nvidia_driver_version": "latest"}, 'nvidia_driver_version is "latest"'),
        ("etc/fstab", "", {"nvidia_driver_version": "535.230.02"}, "does not know NVLink 5"),
    ],
    ids=["second-owner", "no-version", "old-branch"],
)  # fmt: skip
def test_what_cannot_hold_is_refused(
    tmp_path: Path, file: str, text: str, variables: dict[str, Any], said: str
) -> None:
    """Before anything is touched; a second owner with both named."""
    machine = Sandbox(tmp_path)
    machine.write(file, text)
    run = machine.play(ROLE, **(DRIVER | variables))
    assert said in run.failure
    assert run.changed == []


_PIN = "Package: {}\nPin: version {}-1\nPin-Priority: 1001\n"


@pytest.mark.parametrize(
    ("held", "pins", "touched"),
    [
        ([], "", ["libnvsdm", "nvidia-open"]),
        (["nvidia-open"], "", ["libnvsdm"]),
        (["nvidia-open", "libnvsdm"], "", []),
        ([], _PIN.format("nvidia-* libnvsdm*", MIDDLE), []),
        ([], _PIN.format("nvidia_open libnvsdm", MIDDLE), ["nvidia-open"]),
        (["libnvsdm"], _PIN.format("nvidia-open", OLD), ["nvidia-open"]),
    ],
    ids=["nothing holds", "one held", "all held", "pinned", "a misspelt pin", "pinned to an older one"],
)
def test_a_host_says_what_a_simulated_upgrade_of_everything_would(
    tmp_path: Path, held: list[str], pins: str, touched: list[str]
) -> None:
    """Which packages of the driver it would exchange, in a fraction of its time (azhpc-images verify_dnf_conf)."""
    machine, names = Sandbox(tmp_path), ("nvidia-open", "libnvsdm")
    offered = [Package(name, f"{version}-1") for name in names for version in (OLD, MIDDLE, NEW)]
    packages.only(machine, packages.source(machine, f"{STATE}/apt", offered))
    machine.run(["apt-get", "install", "--yes", *(f"{name}={MIDDLE}-1" for name in names)])
    machine.run(["apt-mark", "hold", *held])
    machine.write("etc/apt/preferences.d/site", pins)
    said = {" ".join(one.ask): machine.run(one.ask).stdout for one in (PACKAGES, CANDIDATES)}
    changed = [place.split()[1] for place, what in upgrades(said, "(lib)?(nvidia|nvsdm).*").items() if what != "kept"]
    simulated = re.findall(r"(?m)^Inst (\S+)", machine.run(["apt-get", "--simulate", "dist-upgrade"]).stdout)
    assert (sorted(changed), sorted(simulated)) == (touched, touched)
