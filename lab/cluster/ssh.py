"""The way into the lab's real hosts: one server for all, root by key only, known before the first connection."""

from __future__ import annotations

import subprocess

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from infra.errors import CheckError
from lab.cluster.lab import Lab, replace

FOLDER = "secrets/ssh"
"""Where the user's key and the known servers are, below the state folder."""

HOST_KEY = "pki/ssh-host.key"
"""The server's key, below the state folder."""

ACCESS = "ssh"
"""Folder of those who may come in, below the ``config`` folder; the lab shows it as root's ``.ssh``."""


def ensure(lab: Lab) -> None:
    """Have both keys, and all files that clients read; nothing that is good is written again."""
    folder = lab.state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    key = folder / "id_ed25519"
    try:
        private = serialization.load_ssh_private_key(key.read_bytes(), password=None)
    except (OSError, ValueError):
        private = Ed25519PrivateKey.generate()
        replace(key, _openssh(private))
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    replace(folder / "id_ed25519.pub", f"{public.decode()} {lab.name}\n")
    replace(lab.config / ACCESS / "authorized_keys", f"{public.decode()} {lab.name}\n")
    (lab.config / ACCESS).chmod(0o700)
    replace(folder / "known_hosts", known_hosts(lab, host_key(lab)))
    replace(lab.state / "ssh_config", client_config(lab))


def host_key(lab: Lab) -> str:
    """The public half of the server's key, as known_hosts has it; the key is made when there is no good one."""
    path = str(lab.state / HOST_KEY)
    shown = _dropbearkey("-y", "-f", path)
    if shown.returncode:
        (lab.state / HOST_KEY).unlink(missing_ok=True)
        shown = _dropbearkey("-t", "ed25519", "-f", path)
    lines = [line for line in shown.stdout.splitlines() if line.startswith("ssh-ed25519 ")]
    if shown.returncode or not lines:
        raise CheckError(
            f"sshd — dropbearkey gave no key and said {shown.stderr.strip()!r} — one of type ed25519 is needed — "
            f"remove {path} and run `lab up`"
        )
    return " ".join(lines[0].split()[:2])


def known_hosts(lab: Lab, public: str) -> str:
    """One line per real host; all have the same key, for they share the server."""
    port = lab.network.ports.ssh
    return "".join(f"[{lab.network.address_of(host)}]:{port} {public}\n" for host in lab.hosts)


def client_config(lab: Lab) -> str:
    """What OpenSSH's ``ssh -F`` reads: each real host by name, and no question asked."""
    folder = lab.state / FOLDER
    named = "".join(f"Host {host.name}\n    HostName {lab.network.address_of(host)}\n" for host in lab.hosts)
    return f"""\
{named}Host {" ".join(host.name for host in lab.hosts)}
    Port {lab.network.ports.ssh}
    User root
    IdentityFile "{folder}/id_ed25519"
    IdentitiesOnly yes
    UserKnownHostsFile "{folder}/known_hosts"
    StrictHostKeyChecking yes
    BatchMode yes
"""


def _openssh(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()


def _dropbearkey(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["dropbearkey", *arguments], capture_output=True, text=True, check=False)
