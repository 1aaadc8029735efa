"""A service manager's answer is read as a state, and what it does not say is not made up."""

from __future__ import annotations

import pytest

from infra.errors import ConfigError
from runbooks.lib.hosts.services import Manager, PartManager, Systemd
from runbooks.lib.writing import Result


@pytest.mark.parametrize(
    ("manager", "result", "state"),
    [
        (Systemd(), Result(0, "LoadState=loaded\nActiveState=active\n", ""), "running"),
        (Systemd(), Result(0, "LoadState=loaded\nActiveState=inactive\n", ""), "stopped"),
        (Systemd(), Result(0, "LoadState=loaded\nActiveState=failed\n", ""), "failing"),
        (Systemd(), Result(0, "LoadState=not-found\nActiveState=inactive\n", ""), "absent"),
        (Systemd(), Result(1, "", "Failed to connect to bus"), ""),
        (PartManager("/x/part"), Result(0, "paused\n", ""), "paused"),
        (PartManager("/x/part"), Result(2, "", "no part 'x'"), "absent"),
        (PartManager("/x/part"), Result(127, "", "not found"), ""),
    ],
    ids=["active", "inactive", "failed", "not there", "no bus", "paused", "no part", "no program"],
)
def test_states_are_read(manager: Manager, result: Result, state: str) -> None:
    """Empty where nothing can be told."""
    assert manager.read(result) == state


@pytest.mark.parametrize("manager", [Systemd(), PartManager("/x/part")], ids=["systemd", "part"])
def test_an_unknown_action_is_refused(manager: Manager) -> None:
    """Before any command is sent."""
    with pytest.raises(ConfigError, match="'reboot'"):
        manager.steps("kubelet", "reboot")
