"""Keys and passphrase: made once, readable by their owner only, never replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import ConfigError
from lab import keys, paths, stack_file

STACK = """\
config:
  railwright:keys:
    research: {tenant: research, tier: premium, secret_file: .lab/secrets/keys/research}
    support: {tenant: support, tier: standard, secret_file: .lab/secrets/keys/support}
    theirs: {tenant: other, tier: batch, secret_file: elsewhere/theirs}
"""


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of its own, with a stack of three keys."""
    monkeypatch.setattr(paths, "repo_root", lambda: tmp_path)
    (tmp_path / "stacks").mkdir()
    stack_file.path().write_text(STACK)
    return tmp_path


def test_every_key_and_the_passphrase_are_made_once() -> None:
    """The first run makes all, the second none, and values stay."""
    first = (keys.ensure(), keys.value("research"))
    assert first[0] == 3
    assert (keys.ensure(), keys.value("research")) == (0, first[1])


def test_only_the_owner_can_read_a_key(clone: Path) -> None:
    """Files are 0600 in a folder of 0700, and no draft is left."""
    keys.ensure()
    folder = clone / ".lab/secrets/keys"
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"research": 0o600, "support": 0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_keys_differ_and_are_long() -> None:
    """Each key has 256 bits of its own."""
    keys.ensure()
    one, other = keys.value("research"), keys.value("support")
    assert one != other
    assert one.startswith("sk-rw-")
    assert len(one) == len("sk-rw-") + 43


def test_a_key_outside_the_state_folder_is_the_users_own(clone: Path) -> None:
    """The lab never makes a secret in a place that is not its own."""
    keys.ensure()
    assert not (clone / "elsewhere").exists()


def test_a_secret_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Of two that write at the same time the first wins, so that no client holds a dead key."""
    keys.write_once(tmp_path / "s" / "key", "first")
    keys.write_once(tmp_path / "s" / "key", "second")
    assert [(path.name, path.read_text()) for path in (tmp_path / "s").iterdir()] == [("key", "first")]


@pytest.mark.parametrize(
    ("name", "said"), [("reserch", "allowed are"), ("support", "run `lab up`")], ids=["typo", "absent"]
)
def test_a_key_that_cannot_be_told_says_why(name: str, said: str) -> None:
    """An unknown key names the known ones; one that is not made yet names the command that makes it."""
    with pytest.raises(ConfigError, match=said):
        keys.value(name)


@pytest.mark.parametrize(
    "text", ["", "config: 3", "config: {railwright:keys: [a]}", "a: ["], ids=["empty", "no map", "list", "yaml"]
)
def test_a_spoilt_stack_file_is_refused(text: str) -> None:
    """A stack file that is no stack file is an error with the file's name, not a traceback."""
    stack_file.path().write_text(text)
    with pytest.raises(ConfigError, match=r"Pulumi\.lab\.yaml"):
        keys.ensure()


@pytest.mark.parametrize(
    ("text", "salt", "want"),
    [
        ("config: {}\n", "v1:x", "config: {}\nencryptionsalt: v1:x\n"),
        ("encryptionsalt: v1:old\nconfig: {}\n", "v1:x", "config: {}\nencryptionsalt: v1:x\n"),
        ("encryptionsalt: v1:old\nconfig: {} # why\n", None, "config: {} # why\n"),
        ("config: {}", "v1:x", "config: {}\nencryptionsalt: v1:x\n"),
    ],
    ids=["added", "replaced", "dropped", "no newline at the end"],
)
def test_only_the_salt_changes_in_a_stack_file(text: str, salt: str | None, want: str) -> None:
    """Every other line, comments too, stays as the user wrote it."""
    assert stack_file.with_salt(text, salt) == want
    assert stack_file.salt(want) == salt
