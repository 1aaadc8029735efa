"""The environment for plain commands: complete, quoted, free of secrets, the same when taken twice."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lab import env, keys, paths, stack_file
from lab.cluster import lab as cluster
from lab.cluster.network import Network


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose path needs quoting, with a lab that was started once."""
    root = tmp_path / "it's a clone"
    (root / "stacks").mkdir(parents=True)
    monkeypatch.setattr(paths, "repo_root", lambda: root)
    monkeypatch.setattr(cluster, "remembered", lambda state: Network(77))
    key = "research: {tenant: t, tier: premium, secret_file: .lab/secrets/keys/research}"
    text = f"config:\n  railwright:gateway: {{node_port: 30080}}\n  railwright:keys: {{{key}}}\n"
    stack_file.path().write_text(text)
    return root


def test_a_shell_reads_back_what_was_meant() -> None:
    """Whatever a path holds, eval in sh yields the same values."""
    want = env.variables()
    printed = subprocess.run(
        ["/bin/sh", "-c", f'eval "$1"; {"; ".join(f"echo ${{{name}}}" for name in want)}', "sh", env.script(want)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.splitlines() == list(want.values())


def test_no_secret_is_in_the_environment() -> None:
    """Keys and the passphrase are named by their files only."""
    keys.ensure()
    text = env.script(env.variables())
    assert keys.value("research") not in text
    assert keys.passphrase_file().read_text() not in text


def test_the_path_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking the environment again inside itself changes nothing."""
    once = env.search_path()
    monkeypatch.setattr(paths, "search_path", lambda: once)
    assert env.search_path() == once
    assert once.split(os.pathsep)[1] == str(paths.bin_dir())


def test_pulumis_state_folder_is_there(clone: Path) -> None:
    """Pulumi's file backend wants a folder that exists, and writes nowhere but in this clone."""
    assert env.variables()["PULUMI_BACKEND_URL"] == env.pulumi_state().as_uri()
    assert env.pulumi_state().is_dir()
    assert env.pulumi_state().is_relative_to(clone)


@pytest.mark.parametrize(
    ("network", "url"),
    [(Network(77), "http://10.77.0.2:30080/v1"), (Network(77, simulated=True), None), (None, None)],
    ids=["real", "simulated", "never started"],
)
def test_the_gateway_is_named_only_where_one_can_be(
    network: Network | None, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a real node there is no gateway, and no address that would lead nowhere."""
    monkeypatch.setattr(cluster, "remembered", lambda state: network)
    assert env.variables().get("OPENAI_BASE_URL") == url


def test_a_run_of_pulumi_leaves_no_kubeconfig_behind(clone: Path) -> None:
    """What its Kubernetes provider writes lands where only the owner looks, and goes; other files stay."""
    folder = Path(env.variables()["TMPDIR"])
    assert folder.is_relative_to(clone)
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("kubeconfig4711", "other"):
        (folder / name).write_text("")
    env.forget_kubeconfigs()
    assert [path.name for path in folder.iterdir()] == ["other"]


@pytest.mark.parametrize("elsewhere", [True, False], ids=["the user's own", "of a lab env shell"])
def test_builds_do_not_get_pulumis_folder(monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool) -> None:
    """In a shell of `lab env`, `lab up` builds with the machine's own folder for temporary files."""
    monkeypatch.setenv("TMPDIR", "/elsewhere" if elsewhere else str(env.scratch()))
    env.keep_scratch_to_pulumi()
    assert os.environ.get("TMPDIR") == ("/elsewhere" if elsewhere else None)
