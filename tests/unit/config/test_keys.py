"""API keys: one source each, values hard to guess, and never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from infra.config.keys import Key, shared_values, unknown_models
from infra.errors import ConfigError

VALUE = "Abc-123_" * 5
KEY = {"tenant": "acme", "tier": "premium"}


def test_secret_is_read_and_stays_hidden() -> None:
    """The value comes out of ``read`` and of nothing else."""
    key = Key.model_validate(KEY | {"secret": VALUE})
    assert key.read(Path()).get_secret_value() == VALUE
    assert VALUE not in f"{key!r}{key.read(Path())!r}{key.model_dump()}{key.model_dump_json()}"


def test_file_is_read_without_its_line_end(tmp_path: Path) -> None:
    """A value in a file may end with a newline, as editors leave it."""
    (tmp_path / "acme").write_text(f"{VALUE}\n")
    assert Key.model_validate(KEY | {"secret_file": "acme"}).read(tmp_path).get_secret_value() == VALUE


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "set exactly one of secret"),
        ({"secret": VALUE, "secret_file": "x"}, "set exactly one of secret"),
        ({"secret_file": "/etc/key"}, "inside the clone"),
        ({"secret_file": "../key"}, "inside the clone"),
        ({"secret": VALUE, "tier": "gold"}, "premium"),
        ({"secret": VALUE, "models": []}, "at least 1"),
        ({"secret": VALUE, "tenant": "Acme/1"}, "pattern"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_mistakes_are_refused(change: dict[str, Any], says: str) -> None:
    """What cannot work is refused when the stack is read."""
    with pytest.raises(ValidationError, match=says):
        Key.model_validate(KEY | change)


@pytest.mark.parametrize("value", ["short", "x" * 257, "x" * 31, "x" * 40 + " y", "é" * 40, "x" * 32 + "\n"])
def test_weak_or_unsafe_values_are_refused_unseen(value: str) -> None:
    """A value that is guessed easily or breaks a header is refused, by its length and not by its text."""
    with pytest.raises(ConfigError, match=rf"\({len(value)} characters\)") as refused:
        Key.model_validate(KEY | {"secret": value}).read(Path())
    assert value not in str(refused.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A key file that is not there is told by name, with the fix."""
    with pytest.raises(ConfigError, match=r"'nowhere'.*write the key's value"):
        Key.model_validate(KEY | {"secret_file": "nowhere"}).read(tmp_path)


def test_two_keys_with_one_value_are_told_by_id() -> None:
    """A shared value is refused without being printed."""
    values = {"a": SecretStr(VALUE), "b": SecretStr(VALUE + "x"), "c": SecretStr(VALUE)}
    [problem] = shared_values(values)
    assert problem.startswith("keys.c — has the same value as keys.a")
    assert VALUE not in problem


def test_unknown_model_gets_its_nearest_name() -> None:
    """A typo in a key's models is answered with the model that was probably meant."""
    keys = {"a": Key.model_validate(KEY | {"secret": VALUE, "models": ["tiny-lama"]})}
    assert list(unknown_models(keys, ["tiny-llama", "big"])) == [
        "keys.a.models: 'tiny-lama' is no model of this stack; did you mean 'tiny-llama'?"
    ]
