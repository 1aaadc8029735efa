"""API keys: whose they are, what they open, and where their values come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from infra.config.base import Frozen, Name
from infra.config.mistakes import nearest
from infra.config.scheduling import Tier
from infra.errors import ConfigError

VALUE_PATTERN = re.compile(r"[A-Za-z0-9_-]{32,256}")
"""A key value: fits any header, shell and URL; 192 bits or more when drawn at random. Source: RFC 4648 base64url."""


class Key(Frozen):
    """One API key of one tenant; an entry's name is the key's id in logs."""

    tenant: Name
    """Who pays and is shown in logs; one tenant may have several keys."""
    tier: Tier
    """How the key's requests rank when there is not room for all."""
    models: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Models that the key opens; left out, all of them."""
    secret: SecretStr | None = None
    """The value itself, as ``pulumi config set --secret`` stores it."""
    secret_file: str | None = None
    """File that holds the value, relative to the clone and ignored by git."""

    @field_validator("secret_file")
    @classmethod
    def _inside_the_clone(cls, value: str | None) -> str | None:
        path = PurePosixPath(value or "")
        if path.is_absolute() or ".." in path.parts:
            raise ValueError("not allowed; name a file inside the clone, relative to it")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.secret is None) == (self.secret_file is None):
            raise ValueError("set exactly one of secret (pulumi config set --secret) and secret_file")
        return self

    def read(self, root: Path) -> SecretStr:
        """Fetch the value.

        Args:
            root: the clone, where ``secret_file`` starts.
        Raises:
            ConfigError: there is none, or it is not one that is hard to guess and safe in a header.
        """
        if self.secret is not None:
            return _checked(self.secret.get_secret_value(), "secret")
        path = root / str(self.secret_file)
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"secret_file {self.secret_file!r} — cannot be read ({getattr(error, 'strerror', 'not text')}); "
                "write the key's value into it"
            ) from error
        return _checked(text, f"secret_file {self.secret_file!r}")


def shared_values(values: Mapping[str, SecretStr]) -> Iterator[str]:
    """Yield a sentence for each two keys with one value, by their ids alone."""
    first: dict[str, str] = {}
    for name, value in values.items():
        other = first.setdefault(value.get_secret_value(), name)
        if other != name:
            yield f"keys.{name} — has the same value as keys.{other}; a value belongs to one key, make a new one"


def unknown_models(keys: Mapping[str, Key], models: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each model that a key opens and nobody serves."""
    known = sorted(models)
    for name, key in keys.items():
        for model in key.models or ():
            if model not in known:
                yield f"keys.{name}.models: {model!r} is no model of this stack; {nearest(model, known)}"


def _checked(value: str, source: str) -> SecretStr:
    if not VALUE_PATTERN.fullmatch(value):
        raise ConfigError(
            f"{source} — its value ({len(value)} characters) is no key; allowed are 32 to 256 letters, digits, "
            "'-' and '_'; make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    return SecretStr(value)
