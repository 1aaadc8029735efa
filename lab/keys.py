"""Make the secrets of this clone's lab, once each: one value per key of the stack, and Pulumi's passphrase."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from infra.errors import ConfigError
from lab import paths, stack_file

RANDOM_BYTES = 32
"""Randomness in each secret (bytes): 256 bits, beyond guessing."""


def key_files() -> dict[str, Path]:
    """File of each key of the stack that is kept in a file, by the key's name."""
    entries = stack_file.section("keys").items()
    return {
        name: paths.repo_root() / entry["secret_file"]
        for name, entry in entries
        if isinstance(entry, dict) and "secret_file" in entry
    }


def passphrase_file() -> Path:
    """File of the passphrase that seals the secrets in Pulumi's state."""
    return paths.state_dir() / "secrets" / "passphrase"


def absent() -> list[Path]:
    """Files of this lab's secrets that are not made yet."""
    ours = [path for path in key_files().values() if path.is_relative_to(paths.state_dir())]
    return [path for path in (*ours, passphrase_file()) if not path.exists()]


def ensure() -> int:
    """Make what is absent and return how many were made; what is there stays, for clients use it."""
    made = absent()
    for path in made:
        token = secrets.token_urlsafe(RANDOM_BYTES)
        write_once(path, token if path == passphrase_file() else f"sk-rw-{token}")
    return len(made)


def write_once(path: Path, value: str) -> None:
    """Write a secret that only its owner can read, whole or not at all, unless somebody was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    draft, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(draft, "w") as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)
    except FileExistsError:
        return
    finally:
        Path(name).unlink()


def value(name: str) -> str:
    """The value of one key.

    Raises:
        ConfigError: the stack has no such key, or it is not made yet.
    """
    files = key_files()
    if name not in files:
        known = ", ".join(sorted(files))
        raise ConfigError(f"key {name!r} — is not in {stack_file.path()} — allowed are {known} — name one of them")
    try:
        return files[name].read_text().strip()
    except OSError as error:
        raise ConfigError(f"key {name!r} — {files[name]} cannot be read ({error.strerror}) — run `lab up`") from error
