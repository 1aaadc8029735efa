"""The way into the machines: one key of the user, a known key of each machine, and what clients read."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lab.cluster.lab import replace
from lab.vm.machine import Machine


def config_file(root: Path) -> Path:
    """What ``ssh -F`` and Ansible read."""
    return root / "ssh_config"


def write_clients(root: Path, machines: Sequence[Machine]) -> None:
    """Write the files that clients read, for these machines; keys are made once."""
    _key(root / "id_ed25519")
    lines = [f"[127.0.0.1]:{one.port} {_public(_key(_host_key(one)))}\n" for one in machines]
    replace(root / "known_hosts", "".join(lines))
    replace(config_file(root), client_config(root, machines))


def client_config(root: Path, machines: Sequence[Machine]) -> str:
    """Each machine by name, and no question asked."""
    named = "".join(f"Host {one.name}\n    HostName 127.0.0.1\n    Port {one.port}\n" for one in machines)
    return f"""\
{named}Host {" ".join(one.name for one in machines)}
    User root
    IdentityFile "{root}/id_ed25519"
    IdentitiesOnly yes
    UserKnownHostsFile "{root}/known_hosts"
    StrictHostKeyChecking yes
    BatchMode yes
"""


def write_seed(machine: Machine) -> None:
    """Write what a machine takes over at its first boot."""
    partial = machine.seed.with_suffix(".partial")
    partial.write_bytes(seed(machine, _key(_host_key(machine)), _public(_key(machine.root / "id_ed25519"))))
    partial.replace(machine.seed)


def seed(machine: Machine, host_key: Ed25519PrivateKey, user: str) -> bytes:
    """A tar of files that differ between machines: name, keys, an address on the network between them.

    Args:
        user: public key that may log in as root.
    """
    network = f"[Match]\nName=lan0\n\n[Network]\nAddress={machine.address('lan0')}\nLinkLocalAddressing=no\n"
    files = {
        "etc/hostname": (f"{machine.name}\n", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {machine.name}\n", 0o644),
        "etc/systemd/network/10-lan0.network": (network, 0o644),
        "etc/ssh/ssh_host_ed25519_key.pub": (f"{_public(host_key)}\n", 0o644),
        "root/.ssh/authorized_keys": (f"{user}\n", 0o600),
        # Last: where it is, all is.
        "etc/ssh/ssh_host_ed25519_key": (_private(host_key), 0o600),
    }
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        folder = tarfile.TarInfo("root/.ssh")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o700
        tar.addfile(folder)
        for name, (text, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), mode
            tar.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def _host_key(machine: Machine) -> Path:
    return machine.folder / "host_key"


def _key(path: Path) -> Ed25519PrivateKey:
    """A key that is kept; one that is none any more is made anew."""
    try:
        found = serialization.load_ssh_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError):
        found = Ed25519PrivateKey.generate()
        replace(path, _private(found))
    if not isinstance(found, Ed25519PrivateKey):
        raise TypeError(f"{path} holds a {type(found).__name__}, which nobody here wrote")
    return found


def _private(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()


def _public(key: Ed25519PrivateKey) -> str:
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode()
