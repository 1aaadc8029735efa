"""The runbooks' way into hosts against a real ssh server: only known hosts, exact results, whole files, plays."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.lib.hosts import Hosts
from runbooks.lib.hosts.plays import Order, Place, play
from runbooks.lib.hosts.ssh import Connections
from runbooks.lib.stack import Stack
from tests.unit.runbooks.lib.acting import Acting

PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy: {content: "{{ text }}", dest: "{{ path }}", mode: "0600"}
    - name: Fail if asked to
      ansible.builtin.fail: {msg: "as asked"}
      when: fails | default(false)
"""


@dataclass(frozen=True)
class Server:
    """A server, and a folder with what a client needs."""

    folder: Path
    port: int

    @property
    def config(self) -> Path:
        return self.folder / "config"


def _port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dropbear that sees a home of its own, so that nobody's authorized keys are touched."""
    programs = ("dropbear", "dropbearkey", "ssh-keygen", "unshare")
    if os.geteuid() != 0 or not all(map(shutil.which, programs)):
        pytest.skip("an ssh server of its own takes root and dropbear")
    folder = tmp_path_factory.mktemp("ssh")
    (folder / "home/.ssh").mkdir(parents=True, mode=0o700)
    for argv in (
        ["dropbearkey", "-t", "ed25519", "-f", "host"],
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"],
    ):
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    (folder / "home/.ssh/authorized_keys").write_bytes((folder / "key.pub").read_bytes())
    (folder / "home/.ssh/authorized_keys").chmod(0o600)
    shown = subprocess.run(["dropbearkey", "-y", "-f", "host"], cwd=folder, check=True, capture_output=True, text=True)
    public = next(line for line in shown.stdout.splitlines() if line.startswith("ssh-ed25519"))
    found = Server(folder, _port())
    (folder / "known").write_text(f"[127.0.0.1]:{found.port} {' '.join(public.split()[:2])}\n")
    _write_config(found.config, found.port, folder / "key", folder / "known")
    script = 'mount --bind "$1" "$2" && exec dropbear -F -E -s -r "$3" -p "127.0.0.1:$4" -P "$1/pid"'
    home = pwd.getpwuid(0).pw_dir
    argv = ["unshare", "--mount", "sh", "-c", script, "sshd", str(folder / "home"), home, str(folder / "host")]
    with (folder / "log").open("w") as log, subprocess.Popen([*argv, str(found.port)], stderr=log) as process:
        try:
            _await(found.port)
            yield found
        finally:
            process.terminate()


def _write_config(path: Path, port: int, key: Path, known: Path, name: str = "host-0") -> None:
    path.write_text(
        f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentityFile {key}\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {known}\n"
    )


def _await(port: int) -> None:
    end = time.monotonic() + 20
    while True:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def hosts(server: Server) -> Hosts:
    return _hosts(server, Acting())


def _hosts(server: Server, ctx: Acting) -> Hosts:
    stack = Stack("lab")
    stack.__dict__["ssh_config"] = server.config
    return Hosts(ctx, stack)


def test_a_command_comes_back_whole(hosts: Hosts) -> None:
    """Exit status, both outputs, and each argument as one word."""
    done = hosts.ask("host-0", ["sh", "-c", 'printf %s "$1"; printf err >&2; exit 3', "sh", "two  words; $HOME 'x'"])
    assert (done.rc, done.stdout, done.stderr) == (3, "two  words; $HOME 'x'", "err")


def test_a_megabyte_of_output_is_not_cut(hosts: Hosts) -> None:
    """More than one window of the channel."""
    done = hosts.ask("host-0", ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero >&2"])
    assert (len(done.stdout), len(done.stderr)) == (3_000_000, 300_000)


def test_a_command_that_does_not_end_is_unknown(hosts: Hosts) -> None:
    """After its time, not for ever; the host can be asked again."""
    began = time.monotonic()
    with pytest.raises(Unknown, match="not ended after 1 s"):
        hosts.ask("host-0", ["sleep", "30"], timeout=1)
    assert time.monotonic() - began < 10
    assert hosts.ask("host-0", ["true"]).is_ok


@pytest.mark.parametrize("known", ["", "other"], ids=["unknown key", "other key"])
def test_a_host_whose_key_is_not_the_known_one_is_not_spoken_to(server: Server, tmp_path: Path, known: str) -> None:
    """No question, no new entry, no command."""
    if known:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
        public = (tmp_path / "other.pub").read_text().split()
        known = f"[127.0.0.1]:{server.port} {public[0]} {public[1]}\n"
    (tmp_path / "known").write_text(known)
    _write_config(tmp_path / "config", server.port, server.folder / "key", tmp_path / "known")
    with pytest.raises(ConfigError, match="key"):
        Connections(tmp_path / "config").run("host-0", ["true"], timeout=5)
    assert (tmp_path / "known").read_text() == known


def test_a_key_that_is_not_welcome_is_a_mistake(server: Server, tmp_path: Path) -> None:
    """Told apart from a host that is down."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    _write_config(tmp_path / "config", server.port, tmp_path / "key", server.folder / "known")
    with pytest.raises(ConfigError, match="refuses our key"):
        Connections(tmp_path / "config").run("host-0", ["true"], timeout=5)


def test_a_host_that_is_down_is_unknown(server: Server, tmp_path: Path) -> None:
    """Nothing listens there."""
    _write_config(tmp_path / "config", _port(), server.folder / "key", server.folder / "known")
    with pytest.raises(Unknown, match="no ssh at"):
        Connections(tmp_path / "config").run("host-0", ["true"], timeout=5)


def test_a_file_arrives_as_it_was_sent(hosts: Hosts, tmp_path: Path) -> None:
    """Bytes of every value, mode and all, and no draft is left."""
    target, content = tmp_path / "a file", bytes(range(256)) * 500
    hosts.put_file("host-0", str(target), content, mode=0o640)
    assert target.read_bytes() == content
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]


def test_a_file_that_cannot_be_written_is_a_failure(hosts: Hosts) -> None:
    """With the reason from the host."""
    with pytest.raises(CheckError, match="cannot be written"):
        hosts.put_file("host-0", "/proc/nothing/here", b"x")


def test_a_dry_run_changes_nothing_on_a_host(server: Server, tmp_path: Path) -> None:
    """Commands that may write are told, those that only read are run."""
    ctx = Acting(dry=True)
    hosts, target = _hosts(server, ctx), tmp_path / "x"
    assert hosts.run("host-0", ["touch", str(target)]).is_ok
    hosts.put_file("host-0", str(target), b"x")
    assert hosts.ask("host-0", ["echo", "a"]).stdout == "a\n"
    assert not target.exists()
    assert ctx.wished == [f"run on host host-0: touch {target}", f"write 1 bytes to {target} on host host-0"]


def _place(folder: Path, config: Path) -> Place:
    options = {"ansible_ssh_common_args": f"-F {config}", "ansible_python_interpreter": "/usr/bin/python3"}
    return Place(folder, {"all": {"hosts": {"host-0": options}}}, folder / "kept")


def test_a_play_reports_what_it_changed(server: Server, tmp_path: Path) -> None:
    """Check mode first, then once with a change, and once without; events and text are kept, variables are not."""
    (tmp_path / "book.yml").write_text(PLAYBOOK)
    variables = {"text": "a", "path": str(tmp_path / "target"), "never_shown": "hunter2"}
    place = _place(tmp_path, server.config)
    found = [
        play(place, Order("book.yml", ("host-0",), variables, check=check)).changed for check in (True, False, False)
    ]
    assert (found, (tmp_path / "target").read_text()) == ([1, 1, 0], "a")
    kept = {path.name: path.read_text() for path in (tmp_path / "kept").iterdir()}
    assert set(kept) == {"book.events.jsonl", "book.log"}
    assert not [name for name, text in kept.items() if "hunter2" in text or not text]


def test_a_play_that_fails_says_so(server: Server, tmp_path: Path) -> None:
    """A task that failed is a failure, a host out of reach is unknown, a missing playbook a mistake."""
    (tmp_path / "book.yml").write_text(PLAYBOOK)
    variables = {"text": "a", "path": str(tmp_path / "target"), "fails": True}
    with pytest.raises(CheckError, match="host-0: Fail if asked to: as asked"):
        play(_place(tmp_path, server.config), Order("book.yml", ("host-0",), variables, check=False))
    _write_config(tmp_path / "config", _port(), server.folder / "key", server.folder / "known")
    with pytest.raises(Unknown, match="out of reach"):
        play(_place(tmp_path, tmp_path / "config"), Order("book.yml", ("host-0",), variables, check=False))
    with pytest.raises(ConfigError, match="no-such"):
        play(_place(tmp_path, server.config), Order("no-such.yml", ("host-0",)))


def test_a_play_is_not_played_on_a_host_whose_key_is_not_known(server: Server, tmp_path: Path) -> None:
    """No question, no new entry, no task."""
    (tmp_path / "book.yml").write_text(PLAYBOOK)
    (tmp_path / "known").write_text("")
    _write_config(tmp_path / "config", server.port, server.folder / "key", tmp_path / "known")
    with pytest.raises(Unknown, match="Host key verification failed"):
        play(_place(tmp_path, tmp_path / "config"), Order("book.yml", ("host-0",), {"text": "", "path": "/x"}))
    assert (tmp_path / "known").read_text() == ""
