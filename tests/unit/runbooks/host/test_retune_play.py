"""Settings that are put right for good, by the play that owns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.result import Exit
from runbooks.host.retune_host import RetuneHost
from runbooks.lib.diagnosis import services
from runbooks.lib.hosts.plays import HostPlay, Play
from runbooks.lib.writing import Result as Ran
from runbooks.lib.writing import may
from tests.unit.runbooks import host_fakes
from tests.unit.runbooks.fakes import said
from tests.unit.runbooks.host_fakes import World

RIGHT = {"net.core.somaxconn": "4096", "vm.max_map_count": "65530", "kernel.numa_balancing": "0"}


@dataclass
class Ssh(host_fakes.Ssh):
    """A host whose settings a play puts right, or not."""

    helps: bool = True
    played: list[tuple[str, Sequence[str], dict[str, Any]]] = field(default_factory=list)

    def play(self, playbook: str, hosts: Sequence[str], **variables: Any) -> Play:
        """Note the play; set everything right if this one helps."""
        if may(self.ctx, f"play {playbook}"):
            self.played.append((playbook, hosts, variables))
            self.answers |= settings() if self.helps else {}
        return Play({name: HostPlay(changed=2) for name in hosts}, "")


def settings(**wrong: str) -> dict[str, Ran]:
    values = RIGHT | {key.replace("__", "."): value for key, value in wrong.items()}
    return {f"sysctl -n {key}": Ran(0, f"{value}\n", "") for key, value in values.items()}


@pytest.fixture
def _real(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target whose hosts are machines of their own."""
    monkeypatch.setattr(services, "in_lab", lambda ctx: False)


def run(ssh: Ssh, tmp_path: Path, *, yes: bool = True) -> Any:
    ssh.answers |= {"date ": Ran(0, f"{host_fakes.fakes.BEGAN.timestamp()}\n", ""),
                    "systemctl show": Ran(0, "LoadState=loaded\nActiveState=active\n", "")}  # fmt: skip
    return World(hosts=ssh).run(RetuneHost, tmp_path, host="lab-0", do="play", yes=yes)


@pytest.mark.usefixtures("_real")
def test_a_setting_is_put_right_by_its_role_without_a_reboot(tmp_path: Path) -> None:
    """Only the role of kernel settings, on this host, and proved by reading the host again."""
    ssh = Ssh(answers=settings(net__core__somaxconn="128"))
    result = run(ssh, tmp_path)
    assert result.exit is Exit.DONE, said(result)
    variables = {"tune_roles": ["kernel_settings"], "tune_reboot": "never"}
    assert ssh.played == [("ansible/playbooks/tune.yml", ["lab-0"], variables)]


@pytest.mark.usefixtures("_real")
def test_a_play_after_which_a_setting_is_still_wrong_is_no_success(tmp_path: Path) -> None:
    """Whatever the play says of itself."""
    result = run(Ssh(answers=settings(net__core__somaxconn="128"), helps=False), tmp_path)
    assert "net.core.somaxconn are still wrong" in said(result)
    assert result.exit is Exit.UNDONE


@pytest.mark.usefixtures("_real")
def test_a_host_that_is_as_planned_is_not_played_on(tmp_path: Path) -> None:
    """Stopped before any write."""
    ssh = Ssh(answers=settings())
    assert (run(ssh, tmp_path).exit, ssh.played) == (Exit.REFUSED, [])


@pytest.mark.usefixtures("_real")
def test_a_dry_run_plays_in_check_mode(tmp_path: Path) -> None:
    """And says how much would change."""
    result = run(Ssh(answers=settings(net__core__somaxconn="128")), tmp_path, yes=False)
    assert (result.exit, "2 tasks would change something" in said(result)) == (Exit.DONE, True)


def test_the_machine_under_the_lab_is_not_tuned(tmp_path: Path) -> None:
    """Refused before anything is asked."""
    ssh = Ssh(answers=settings(net__core__somaxconn="128"))
    assert (run(ssh, tmp_path).exit, ssh.played) == (Exit.REFUSED, [])
